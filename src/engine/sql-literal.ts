import type { SqlToken } from '../guard/sql-tokens.ts';

/** A value that is written out, by the type that the engine gives it. `sql` writes it again, as the engine reads it. */
export type SqlLiteral =
  | { readonly kind: 'integer'; readonly value: bigint; readonly sql: string }
  | { readonly kind: 'decimal'; readonly sql: string }
  | { readonly kind: 'text'; readonly value: string; readonly sql: string }
  | { readonly kind: 'boolean'; readonly sql: string };

/** Beyond it the engine reads a whole number as a floating one. */
const INTEGER_MAX = 2n ** 63n - 1n;

/** What all of the tokens are, if that is one plain literal: a number with or without a sign, a text, true or false. */
export function toLiteral(tokens: readonly SqlToken[]): SqlLiteral | undefined {
  const [first, second, ...more] = tokens;
  if (first === undefined || more.length > 0) return undefined;
  if (second !== undefined) return isMinus(first) ? toNumber(second, '-') : undefined;
  switch (first.kind) {
    case 'number':
      return toNumber(first, '');
    case 'string':
      return { kind: 'text', value: first.text.slice(1, -1).replaceAll("''", "'"), sql: first.text };
    case 'word':
      return toBoolean(first.text.toLowerCase());
    default:
      return undefined;
  }
}

function toNumber({ kind, text }: SqlToken, sign: '' | '-'): SqlLiteral | undefined {
  if (kind !== 'number') return undefined;
  if (!/^\d+$/.test(text)) return { kind: 'decimal', sql: sign + text };
  const size = BigInt(text);
  if (size > INTEGER_MAX) return undefined;
  const value = sign === '-' ? -size : size;
  return { kind: 'integer', value, sql: String(value) };
}

function toBoolean(word: string): SqlLiteral | undefined {
  return word === 'true' || word === 'false' ? { kind: 'boolean', sql: word } : undefined;
}

function isMinus({ kind, text }: SqlToken): boolean {
  return kind === 'symbol' && text === '-';
}
