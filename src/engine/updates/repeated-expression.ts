import { readTokens } from '../../guard/sql/tokenizer.ts';
import type { SqlToken } from '../../guard/sql/tokenizer.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { Field } from '../../model/schema.ts';

/** Far below the nesting that the engine's planner supports. */
export const REPEATS_MAX = 16;

const TOKENS_MAX = 12;
const SYMBOLS: ReadonlySet<string> = new Set(['+', '-', '*', '(', ')']);

/**
 * Whether applying the expression to its own result is equivalent to running the update several times: sums,
 * differences and products of numbers and the column itself, which occurs once, in a type in which no step is
 * converted.
 */
export function isRepeatable(expression: GuardedSql, field: Field | undefined): boolean {
  if (field === undefined || field.metadata.has('ARROW:extension:name')) return false;
  const isNumber = numberTest(field);
  const tokens = [...readTokens(expression)];
  if (isNumber === undefined || tokens.length > TOKENS_MAX) return false;
  const isKnown = (token: SqlToken): boolean =>
    isColumn(token, field.name) || (token.kind === 'number' && isNumber(token.text)) || isSymbol(token);
  return tokens.every(isKnown) && tokens.filter((token) => isColumn(token, field.name)).length === 1;
}

/** The expression applied to its own result. */
export function repeatExpression(expression: GuardedSql, { name }: Field, times: number): GuardedSql {
  const column = [...readTokens(expression)].find((token) => isColumn(token, name));
  if (column === undefined) return expression;
  let repeated: string = expression;
  for (let time = 1; time < times; time += 1) {
    repeated = `${expression.slice(0, column.start)}(${repeated})${expression.slice(column.end)}`;
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Consists of an expression that a guard has read.
  return repeated as GuardedSql;
}

function numberTest({ type }: Field): ((text: string) => boolean) | undefined {
  if (type.kind === 'float' && type.bits === 64) return () => true;
  // Any other number would make every step a float, truncated each time.
  if (type.kind === 'int' && type.bits === 64 && type.signed) return (text) => /^\d{1,9}$/.test(text);
  return undefined;
}

function isColumn({ kind, text }: SqlToken, name: string): boolean {
  return (kind === 'word' || kind === 'quoted-name') && text === name;
}

function isSymbol({ kind, text }: SqlToken): boolean {
  return kind === 'symbol' && SYMBOLS.has(text);
}
