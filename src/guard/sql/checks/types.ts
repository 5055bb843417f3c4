import { quoteForMessage } from '../../../model/identifier.ts';
import { TYPE_WORDS } from '../keywords.ts';
import { refuseAt } from '../refusal.ts';
import { isSymbol, isWord } from '../tokenizer.ts';
import type { SqlToken } from '../tokenizer.ts';

const WHOLE_NUMBERS = ['TINYINT', 'SMALLINT', 'INT', 'INTEGER', 'BIGINT'];

/** Types that the engine casts to. */
const TYPES: ReadonlySet<string> = new Set([
  ...WHOLE_NUMBERS.flatMap((type) => [type, `${type} UNSIGNED`]),
  ...'STRING BINARY FLOAT DOUBLE DECIMAL BOOLEAN DATE TIMESTAMP DATETIME'.split(' '),
]);

const TYPES_HINT =
  'Use STRING, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(precision, scale), BOOLEAN, DATE, TIMESTAMP or BINARY; ' +
  'arrow_cast takes the types of Arrow.';

/** Refuses casts to types that the engine does not have, and to decimals that make it panic. */
export function refuseUnknownTypes(text: string, tokens: readonly SqlToken[]): void {
  for (const [at, token] of tokens.entries()) {
    const isLiteralType = isWord(token, 'TIME') && tokens[at + 1]?.kind === 'string';
    if (token.kind !== 'word' || !(isCastTo(tokens[at - 1]) || isLiteralType)) continue;
    const type = readType(tokens, at);
    if (!TYPES.has(type)) throw refuseAt(token.start, `the type ${quoteForMessage(type)} is not supported`, TYPES_HINT);
    if (type === 'DECIMAL') checkDecimal(text.slice(token.start), token.start);
  }
}

function isCastTo(token: SqlToken | undefined): boolean {
  return isWord(token, 'AS') || isSymbol(token, '::');
}

/** The type in upper case, including the words that continue it. */
function readType(tokens: readonly SqlToken[], at: number): string {
  const words: string[] = [];
  for (const { kind, text } of tokens.slice(at, at + TYPE_WORDS.size)) {
    const word = text.toUpperCase();
    if (kind !== 'word' || (words.length > 0 && !TYPE_WORDS.has(word))) break;
    words.push(word);
  }
  return words.join(' ');
}

const DECIMAL = /^decimal\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)/i;
const PRECISION_MAX = 38;

function checkDecimal(text: string, offset: number): void {
  const [, precision = 0, scale = 0] = (DECIMAL.exec(text) ?? []).map(Number);
  if (precision >= 1 && precision <= PRECISION_MAX && scale <= precision) return;
  const hint = `Write DECIMAL(precision, scale), with a precision from 1 to ${PRECISION_MAX} and a scale from 0 to the precision.`;
  throw refuseAt(offset, 'the decimal type is not valid', hint);
}

/** Whether the text names an Arrow type with an invalid decimal. */
export function hasWrongDecimal(arrowType: string): boolean {
  return [...arrowType.matchAll(/decimal\d*\s*\(\s*(\d+)\s*,\s*(-?\d+)/gi)].some(([, precision, scale]) => {
    return Number(scale) < 0 || Number(scale) > Number(precision);
  });
}
