import { mayBeVolatile } from '../../guard/sql/functions.ts';
import { INFIX, VALUES } from '../../guard/sql/keywords.ts';
import { isSymbol, isWord, readTokens } from '../../guard/sql/tokenizer.ts';
import type { SqlToken } from '../../guard/sql/tokenizer.ts';
import type { Schema } from '../../model/schema.ts';

/** A word of an expression that may name a top-level column. */
interface Reference {
  readonly token: SqlToken;
  /** The column that the engine resolves the name to: first case-sensitively, then not. `undefined` if none. */
  readonly column: string | undefined;
  /** Unquoted, and where only a value can be: not a keyword, a type or a unit of time. */
  readonly isBareValue: boolean;
}

/** Names of functions and fields inside a struct are not references. */
export function findReferences(sql: string, schema: Schema): readonly Reference[] {
  const tokens = [...readTokens(sql)];
  return tokens.flatMap((token, index) => {
    if (token.kind !== 'word' && token.kind !== 'quoted-name') return [];
    if (isSymbol(tokens[index - 1], '.') || isSymbol(tokens[index + 1], '(')) return [];
    return [{ token, column: findColumn(token.text, schema), isBareValue: isBareValue(tokens, index) }];
  });
}

/** Replaces some references of an expression by other text. */
export function replaceReferences<Sql extends string>(
  sql: Sql,
  schema: Schema,
  replace: (reference: Reference) => string | undefined,
): Sql {
  let replaced = '';
  let end = 0;
  for (const reference of findReferences(sql, schema)) {
    const text = replace(reference);
    if (text === undefined) continue;
    replaced += sql.slice(end, reference.token.start) + text;
    end = reference.token.end;
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Guarded before; only names were replaced by names.
  return (replaced + sql.slice(end)) as Sql;
}

const KEYWORDS: ReadonlySet<string> = new Set([...INFIX, ...VALUES, 'NOT', 'IS', 'AS', 'AT']);
const LEADING_WORDS = ['BOTH', 'LEADING', 'TRAILING'];
/** Besides operators, these precede a value. */
const BEFORE_VALUES: ReadonlySet<string> = new Set([...INFIX, 'NOT', 'FROM', 'FOR', 'ZONE', ...LEADING_WORDS]);
const NOT_BEFORE_VALUES: ReadonlySet<string> = new Set([')', ']', '.', '::']);
const LITERALS: ReadonlySet<string> = new Set(['string', 'number', 'hex']);

function isBareValue(tokens: readonly SqlToken[], index: number): boolean {
  const [before, token, next] = [tokens[index - 1], tokens[index], tokens[index + 1]];
  if (token?.kind !== 'word' || LITERALS.has(next?.kind ?? '')) return false;
  const word = token.text.toUpperCase();
  if (word === 'ARRAY' && isSymbol(next, '[')) return false;
  if (KEYWORDS.has(word) || LEADING_WORDS.includes(word) || mayBeVolatile(token.text)) return false;
  if (before === undefined) return true;
  if (before.kind === 'word') return BEFORE_VALUES.has(before.text.toUpperCase());
  const isUnit = isSymbol(before, '(') && isWord(tokens[index - 2], 'EXTRACT');
  return before.kind === 'symbol' && !NOT_BEFORE_VALUES.has(before.text) && !isUnit;
}

/** The top-level columns that an expression reads. */
export function referredColumns(sql: string, schema: Schema): readonly string[] {
  return findReferences(sql, schema).flatMap(({ column }) => column ?? []);
}

function findColumn(text: string, schema: Schema): string | undefined {
  const names = schema.fields.map((field) => field.name);
  const lower = text.toLowerCase();
  return names.find((name) => name === text) ?? names.find((name) => name.toLowerCase() === lower);
}
