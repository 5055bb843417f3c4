import { isSymbol, readTokens } from '../../guard/sql/tokenizer.ts';
import type { SqlToken } from '../../guard/sql/tokenizer.ts';
import type { Schema } from '../../model/schema.ts';

/** A word of an expression that may name a top-level column. */
interface Reference {
  readonly token: SqlToken;
  /** The column as the engine resolves the name: first case-sensitive, then not. `undefined`: no column. */
  readonly column: string | undefined;
}

/** Neither the name of a function nor a field inside a struct is a reference. */
export function findReferences(sql: string, schema: Schema): readonly Reference[] {
  const tokens = [...readTokens(sql)];
  return tokens.flatMap((token, index) => {
    if (token.kind !== 'word' && token.kind !== 'quoted-name') return [];
    if (isSymbol(tokens[index - 1], '.') || isSymbol(tokens[index + 1], '(')) return [];
    return [{ token, column: findColumn(token.text, schema) }];
  });
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
