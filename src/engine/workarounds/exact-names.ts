import { invalidInput } from '../../errors/service-error.ts';
import { sqlFieldReference } from '../../model/field-path.ts';
import { readTokens } from '../../guard/sql/tokenizer.ts';
import type { SqlToken } from '../../guard/sql/tokenizer.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { Schema } from '../../model/schema.ts';
import { replaceReferences } from '../computed/references.ts';

/**
 * Seen in @lancedb/lancedb 0.31.0 and 0.39.0: a bare name that matches no column resolves to a column that differs only
 * in case, but only in comparisons, not in calls and arithmetic. So every such name is replaced by that of the column.
 * If several columns differ only in case, the name is ambiguous and refused.
 */
export function useExactNames<Sql extends string | undefined>(schema: Schema, expression: Sql): Sql {
  if (expression === undefined) return expression;
  const columns = readColumns(schema);
  if (columns.areLower && expression === expression.toLowerCase()) return expression;
  refuseAmbiguousNames(schema, [expression]);
  const isExact = ([word]: RegExpMatchArray) => columns.names.has(word) || !columns.byLower.has(word.toLowerCase());
  if ([...expression.matchAll(WORDS)].every(isExact)) return expression;
  return replaceReferences(expression, schema, ({ token, column, isBareValue }) => {
    return !isBareValue || column === undefined || column === token.text ? undefined : sqlFieldReference([column]);
  });
}

const WORDS = /[\p{Alphabetic}_][\p{Alphabetic}0-9_]*/gu;

export function refuseAmbiguousNames(schema: Schema, expressions: readonly (string | undefined)[]): void {
  const { ambiguous } = readColumns(schema);
  if (ambiguous.size === 0) return;
  for (const expression of expressions) if (expression !== undefined) checkNames(expression, ambiguous);
}

type NamesByLower = ReadonlyMap<string, readonly string[]>;

interface Columns {
  readonly names: ReadonlySet<string>;
  readonly byLower: NamesByLower;
  /** Empty for nearly every table, so that no expression has to be parsed. */
  readonly ambiguous: NamesByLower;
  readonly areLower: boolean;
}

const columnsOf = new WeakMap<Schema, Columns>();

function readColumns(schema: Schema): Columns {
  const known = columnsOf.get(schema);
  if (known !== undefined) return known;
  const names = new Set(schema.fields.map(({ name }) => name));
  const byLower = new Map<string, string[]>();
  for (const name of names) byLower.set(name.toLowerCase(), [...(byLower.get(name.toLowerCase()) ?? []), name]);
  const ambiguous = new Map([...byLower].filter(([, several]) => several.length > 1));
  const found = { names, byLower, ambiguous, areLower: [...names].every((name) => name === name.toLowerCase()) };
  columnsOf.set(schema, found);
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

/** In a merge, the sides precede a column name. */
const SIDES: ReadonlySet<string> = new Set(['target', 'source']);

function isBareColumn(tokens: readonly SqlToken[], index: number): boolean {
  const token = tokens[index];
  if (token?.kind !== 'word' || tokens[index + 1]?.text === '(') return false;
  if (tokens[index - 1]?.text !== '.') return true;
  return SIDES.has(tokens[index - 2]?.text.toLowerCase() ?? '') && tokens[index - 3]?.text !== '.';
}
