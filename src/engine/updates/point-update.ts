import { EXTENSION_NAME_KEY } from '../../arrow/schema/schema-rules.ts';
import { isSymbol, readTokens } from '../../guard/sql/tokenizer.ts';
import type { SqlToken } from '../../guard/sql/tokenizer.ts';
import { sqlFieldReference } from '../../model/field-path.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { DataType, Field } from '../../model/schema.ts';
import type { AssignmentTree } from './assignments.ts';

/** An update of whole columns whose predicate is exactly `column = literal`. */
export interface PointUpdate {
  readonly key: KeyName;
  readonly literal: SqlLiteral;
  readonly expressions: ReadonlyMap<string, GuardedSql>;
}

/** A column as the caller named it; `sql` keeps that form, which the engine resolves. */
export interface KeyName {
  readonly name: string;
  readonly sql: string;
}

export function toPointUpdate(tree: AssignmentTree, predicate: GuardedSql | undefined): PointUpdate | undefined {
  const condition = predicate === undefined ? undefined : toKeyCondition(predicate);
  const expressions = wholeColumns(tree);
  return condition === undefined || expressions === undefined ? undefined : { ...condition, expressions };
}

/** An expression that is only a literal, in any number of parentheses. */
export function toLiteralExpression(expression: GuardedSql): SqlLiteral | undefined {
  return toLiteral(withoutParentheses(readTokensMax(expression)));
}

/** Enough for `-1 = column` in a dozen parentheses. */
const TOKENS_MAX = 28;

/** `undefined` unless the predicate is exactly `column = literal`. */
export function toKeyCondition(predicate: GuardedSql): Pick<PointUpdate, 'key' | 'literal'> | undefined {
  const tokens = withoutParentheses(readTokensMax(predicate));
  const equals = tokens.findIndex((token) => isSymbol(token, '='));
  if (equals === -1) return undefined;
  const [left, right] = [tokens.slice(0, equals), tokens.slice(equals + 1)];
  const [key, literal] = [toKeyName(left) ?? toKeyName(right), toLiteral(left) ?? toLiteral(right)];
  return key === undefined || literal === undefined ? undefined : { key, literal };
}

function toKeyName(tokens: readonly SqlToken[]): KeyName | undefined {
  const [token, ...more] = tokens;
  if (token === undefined || more.length > 0) return undefined;
  if (token.kind === 'quoted-name') return { name: token.text, sql: sqlFieldReference([token.text]) };
  return token.kind === 'word' ? { name: token.text, sql: token.text } : undefined;
}

/** Empty for a longer text, which is neither a literal nor a condition on a key. */
function readTokensMax(text: GuardedSql): readonly SqlToken[] {
  const tokens: SqlToken[] = [];
  for (const token of readTokens(text)) {
    if (tokens.length === TOKENS_MAX) return [];
    tokens.push(token);
  }
  return tokens;
}

function withoutParentheses(tokens: readonly SqlToken[]): readonly SqlToken[] {
  let depth = 0;
  while (isSymbol(tokens[depth], '(') && isSymbol(tokens[tokens.length - 1 - depth], ')')) depth += 1;
  return tokens.slice(depth, tokens.length - depth);
}

function wholeColumns(tree: AssignmentTree): ReadonlyMap<string, GuardedSql> | undefined {
  const columns = new Map<string, GuardedSql>();
  for (const [name, node] of tree) {
    if (node.kind !== 'value') return undefined;
    columns.set(name, node.expression);
  }
  return columns;
}

/** Identifies the member of a group: `json` is equal for equal keys. */
export interface GroupKey {
  readonly json: string;
  readonly sql: string;
}

/** `undefined` if the engine would convert or refuse the literal before comparing. */
export function toGroupKey(literal: SqlLiteral, field: Field): GroupKey | undefined {
  if (!('json' in literal) || isFloat(field.type)) return undefined;
  const sql = toGroupValue(literal, field);
  return sql === undefined ? undefined : { json: literal.json, sql };
}

/**
 * The literal for a list of values of one column, all of one type. `undefined` if the engine would not convert it
 * losslessly: it might then convert a list differently from a single value.
 */
export function toGroupValue(literal: SqlLiteral, { type, metadata }: Field): string | undefined {
  if (metadata.has(EXTENSION_NAME_KEY)) return undefined;
  switch (literal.kind) {
    case 'integer':
      if (isFloat(type)) return isExact(literal.value) ? `${literal.sql}.0` : undefined;
      return isInRange(literal.value, type) ? literal.sql : undefined;
    case 'decimal':
      return isFloat(type) ? literal.sql : undefined;
    case 'text':
      return type.kind === 'utf8' && type.layout !== 'view' ? literal.sql : undefined;
    case 'boolean':
      return type.kind === 'bool' ? literal.sql : undefined;
  }
}

function isInRange(value: bigint, type: DataType): boolean {
  if (type.kind !== 'int') return false;
  return (type.signed ? BigInt.asIntN(type.bits, value) : BigInt.asUintN(type.bits, value)) === value;
}

function isFloat(type: DataType): boolean {
  return type.kind === 'float' && type.bits >= 32;
}

/** Whether a 64-bit float represents the number exactly. */
function isExact(value: bigint): boolean {
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER);
}

/** By the type that the engine gives it; `sql` is the same literal as SQL. */
type SqlLiteral =
  | { readonly kind: 'integer'; readonly value: bigint; readonly json: string; readonly sql: string }
  | { readonly kind: 'decimal'; readonly sql: string }
  | { readonly kind: 'text'; readonly json: string; readonly sql: string }
  | { readonly kind: 'boolean'; readonly sql: string };

/** The engine parses a larger integer as a float. */
const INTEGER_MAX = 2n ** 63n - 1n;

/** A number with or without a sign, a text, true or false; `undefined` if the tokens are anything else. */
function toLiteral(tokens: readonly SqlToken[]): SqlLiteral | undefined {
  const [first, second, ...more] = tokens;
  if (first === undefined || more.length > 0) return undefined;
  if (second !== undefined) return isSymbol(first, '-') ? toNumber(second, '-') : undefined;
  switch (first.kind) {
    case 'number':
      return toNumber(first, '');
    case 'string':
      return { kind: 'text', json: JSON.stringify(first.text.slice(1, -1).replaceAll("''", "'")), sql: first.text };
    case 'word':
      return /^(?:true|false)$/i.test(first.text) ? { kind: 'boolean', sql: first.text.toLowerCase() } : undefined;
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
  return { kind: 'integer', value, json: String(value), sql: String(value) };
}
