import { invalidInput } from '../../errors/service-error.ts';
import { readTokens } from '../../guard/sql/tokenizer.ts';
import type { SqlToken } from '../../guard/sql/tokenizer.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { Schema } from '../../model/schema.ts';

/**
 * Seen in @lancedb/lancedb 0.31.0 and 0.39.0: a bare name that no column has finds one that differs from it in case only,
 * and where several do, the first of them. Which one is meant is not certain, so such a name is refused.
 */
export function refuseAmbiguousNames(schema: Schema, expressions: readonly (string | undefined)[]): void {
  const ambiguous = findAmbiguous(schema);
  if (ambiguous.size === 0) return;
  for (const expression of expressions) if (expression !== undefined) checkNames(expression, ambiguous);
}

type NamesByLower = ReadonlyMap<string, readonly string[]>;

/** Nearly every table has none: then no expression has to be read. */
const ambiguousNames = new WeakMap<Schema, NamesByLower>();

function findAmbiguous(schema: Schema): NamesByLower {
  const known = ambiguousNames.get(schema);
  if (known !== undefined) return known;
  const names = new Map<string, string[]>();
  for (const { name } of schema.fields) names.set(name.toLowerCase(), [...(names.get(name.toLowerCase()) ?? []), name]);
  const found = new Map([...names].filter(([, several]) => several.length > 1));
  ambiguousNames.set(schema, found);
  return found;
}

function checkNames(expression: string, ambiguous: NamesByLower): void {
  const tokens = [...readTokens(expression)];
  for (const [index, token] of tokens.entries()) {
    if (!isBareColumn(tokens, index)) continue;
    const names = ambiguous.get(token.text.toLowerCase());
    if (names === undefined || names.includes(token.text)) continue;
    throw invalidInput(
      `The name ${quoteForMessage(token.text)} matches several columns: ${names.map(quoteForMessage).join(', ')}.`,
      'Use the exact spelling of the column.',
    );
  }
}

/** The sides of a merge are written in front of a column. */
const SIDES: ReadonlySet<string> = new Set(['target', 'source']);

function isBareColumn(tokens: readonly SqlToken[], index: number): boolean {
  const token = tokens[index];
  if (token?.kind !== 'word' || tokens[index + 1]?.text === '(') return false;
  if (tokens[index - 1]?.text !== '.') return true;
  return SIDES.has(tokens[index - 2]?.text.toLowerCase() ?? '') && tokens[index - 3]?.text !== '.';
}
