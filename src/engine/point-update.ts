import { readTokens } from '../guard/sql-tokens.ts';
import type { SqlToken } from '../guard/sql-tokens.ts';
import { sqlFieldReference } from '../model/field-path.ts';
import type { GuardedSql } from '../model/query.ts';
import type { AssignmentTree } from './assignment-tree.ts';
import { toLiteral } from './sql-literal.ts';
import type { SqlLiteral } from './sql-literal.ts';

/** What an update asks for, each field once. Without a predicate it is about every row. */
export interface UpdatePlan {
  readonly tree: AssignmentTree;
  readonly predicate: GuardedSql | undefined;
}

/** An update of whole columns in the rows where one column has one value: `column = literal` and nothing else. */
export interface PointUpdate {
  readonly key: KeyName;
  readonly literal: SqlLiteral;
  readonly expressions: ReadonlyMap<string, GuardedSql>;
}

/** A column as the caller named it. `sql` keeps that form, so that the engine finds whatever it would have found. */
export interface KeyName {
  readonly name: string;
  readonly sql: string;
}

export function toPointUpdate({ tree, predicate }: UpdatePlan): PointUpdate | undefined {
  const condition = predicate === undefined ? undefined : toKeyCondition(predicate);
  const expressions = wholeColumns(tree);
  return condition === undefined || expressions === undefined ? undefined : { ...condition, expressions };
}

/** An expression that is nothing but a literal, in any number of parentheses. */
export function toLiteralExpression(expression: GuardedSql): SqlLiteral | undefined {
  return toLiteral(withoutParentheses(readTokensMax(expression)));
}

/** The longest condition in question, `-1 = column`, in a dozen parentheses. */
const TOKENS_MAX = 28;

function toKeyCondition(predicate: GuardedSql): Pick<PointUpdate, 'key' | 'literal'> | undefined {
  const tokens = withoutParentheses(readTokensMax(predicate));
  const equals = tokens.findIndex(({ kind, text }) => kind === 'symbol' && text === '=');
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

/** None when there are more: then it is neither a literal nor a condition on a key. */
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

function isSymbol(token: SqlToken | undefined, symbol: string): boolean {
  return token?.kind === 'symbol' && token.text === symbol;
}

function wholeColumns(tree: AssignmentTree): ReadonlyMap<string, GuardedSql> | undefined {
  const columns = new Map<string, GuardedSql>();
  for (const [name, node] of tree) {
    if (node.kind !== 'value') return undefined;
    columns.set(name, node.expression);
  }
  return columns;
}
