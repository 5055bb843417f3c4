import { invalidInput } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { formatCount } from '../../model/value-text.ts';
import type { QueryValues } from '../operation.ts';

/** Clients send `exist_ok`, `ExistOk` and `EXIST_OK`; the LanceDB client also puts quotes inside the text. */
export function readWord<Word extends string>(
  name: string,
  text: string | undefined,
  words: readonly [fallback: Word, ...others: Word[]],
): Word {
  if (text === undefined) return words[0];
  const plain = toPlain(text);
  const word = words.find((candidate) => toPlain(candidate) === plain);
  if (word !== undefined) return word;
  throw invalidInput(`The ${name} ${quoteForMessage(text)} is unknown.`, `Use one of ${words.join(', ')}.`);
}

/** Whether `readWord` reads it as `overwrite`. */
export function isOverwrite(mode: unknown): boolean {
  return typeof mode === 'string' && toPlain(mode) === 'overwrite';
}

function toPlain(text: string): string {
  return text
    .replace(/^"(.*)"$/s, '$1')
    .toLowerCase()
    .replaceAll('_', '');
}

interface EntriesRule {
  readonly maximum: number;
  readonly noun?: string;
  readonly hint?: string;
}

export function requireEntries(field: string, count: number, rule: EntriesRule): void {
  const { maximum, noun = 'entries', hint = 'Give at least one entry.' } = rule;
  if (count === 0) throw invalidInput(`${field} is empty.`, hint);
  if (count > maximum)
    throw invalidInput(`${field} has ${formatCount(count)} ${noun}; at most ${formatCount(maximum)} are allowed.`);
}

/** A query parameter that is `true` or `false`. */
export function readFlag(query: QueryValues, name: string): boolean | undefined {
  const text = query[name]?.toLowerCase();
  if (text === undefined || text === '') return undefined;
  if (text === 'true' || text === 'false') return text === 'true';
  throw invalidInput(`The query parameter ${name} must be true or false.`);
}
