import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { QueryValues } from '../operation.ts';

/**
 * One of a few words. Case and underscore do not matter: clients write `exist_ok`, `ExistOk` and `EXIST_OK`; the LanceDB
 * client writes some of them with quotes inside the text.
 */
export function readWord<Word extends string>(
  name: string,
  text: string | undefined,
  words: readonly [fallback: Word, ...others: Word[]],
): Word {
  if (text === undefined) return words[0];
  const plain = toPlain(text.replace(/^"(.*)"$/s, '$1'));
  const word = words.find((candidate) => toPlain(candidate) === plain);
  if (word !== undefined) return word;
  throw new ServiceError('InvalidInput', `The ${name} ${quoteForMessage(text)} is not known.`, {
    hint: `Known are ${words.join(', ')}.`,
  });
}

function toPlain(text: string): string {
  return text.toLowerCase().replaceAll('_', '');
}

/** A query parameter that is `true` or `false`. */
export function readFlag(query: QueryValues, name: string): boolean | undefined {
  const text = query[name]?.toLowerCase();
  if (text === undefined || text === '') return undefined;
  if (text === 'true' || text === 'false') return text === 'true';
  throw new ServiceError('InvalidInput', `The query parameter ${name} is neither true nor false.`);
}
