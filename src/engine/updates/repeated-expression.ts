import { readTokens } from '../../guard/sql/tokenizer.ts';
import type { SqlToken } from '../../guard/sql/tokenizer.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { Field } from '../../model/schema.ts';

/** An expression nested so often stays far below what the engine's planner takes. */
export const REPEATS_MAX = 16;

const TOKENS_MAX = 12;
const SYMBOLS: ReadonlySet<string> = new Set(['+', '-', '*', '(', ')']);

/**
 * Whether an update that runs several times gives what the expression gives when it is applied to its own result: sums,
 * differences and products of the column itself, once, and of numbers, in a type in which no step is converted.
 */
export function isRepeatable(expression: GuardedSql, field: Field | undefined): boolean {
  if (field === undefined || field.metadata.has('ARROW:extension:name')) return false;
  const isNumber = numberTest(field);
  const tokens = [...readTokens(expression)];
  if (isNumber === undefined || tokens.length > TOKENS_MAX) return false;
  const isKnown = (token: SqlToken): boolean =>
    isColumn(token, field) || (token.kind === 'number' && isNumber(token.text)) || isSymbol(token);
  return tokens.every(isKnown) && tokens.filter((token) => isColumn(token, field)).length === 1;
}

/** The expression, applied so often to its own result. */
export function repeatExpression(expression: GuardedSql, { name }: Field, times: number): GuardedSql {
  const column = [...readTokens(expression)].find(({ kind, text }) => isName(kind) && text === name);
  if (column === undefined) return expression;
  let repeated: string = expression;
  for (let time = 1; time < times; time += 1) {
    repeated = `${expression.slice(0, column.start)}(${repeated})${expression.slice(column.end)}`;
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Made of nothing but an expression that a guard has read.
  return repeated as GuardedSql;
}

function numberTest({ type }: Field): ((text: string) => boolean) | undefined {
  if (type.kind === 'float' && type.bits === 64) return () => true;
  // Another number would make every step a floating one, to be cut off each time.
  if (type.kind === 'int' && type.bits === 64 && type.signed) return (text) => /^\d{1,9}$/.test(text);
  return undefined;
}

function isColumn({ kind, text }: SqlToken, { name }: Field): boolean {
  return isName(kind) && text === name;
}

function isName(kind: SqlToken['kind']): boolean {
  return kind === 'word' || kind === 'quoted-name';
}

function isSymbol({ kind, text }: SqlToken): boolean {
  return kind === 'symbol' && SYMBOLS.has(text);
}
