import { readTokens } from '../guard/sql-tokens.ts';
import type { GuardedSql } from '../model/query.ts';
import type { Field } from '../model/schema.ts';
import { toGroupValue } from './group-literals.ts';
import { toLiteralExpression } from './point-update.ts';
import { isRepeatable, repeatExpression } from './repeated-expression.ts';

/** What the members of a group assign to one column: all the same expression, or each a plain value. */
export class GroupColumn {
  readonly #first: GuardedSql;
  readonly #field: Field | undefined;
  readonly #values: (string | undefined)[] = [];
  #isShared = true;
  #isPlain = true;

  constructor(first: GuardedSql, field: Field | undefined) {
    this.#first = first;
    this.#field = field;
  }

  fits(expression: GuardedSql): boolean {
    if (this.#isShared && expression === this.#first) return !isChancy(expression);
    return this.#isPlain && this.#toValue(expression) !== undefined;
  }

  add(expression: GuardedSql): void {
    const value = this.#toValue(expression);
    this.#values.push(value);
    this.#isShared &&= expression === this.#first;
    this.#isPlain &&= value !== undefined;
  }

  /** Whether the same update may follow, applied to the result of this one. */
  repeats(expression: GuardedSql): boolean {
    return this.#isShared && expression === this.#first && isRepeatable(expression, this.#field);
  }

  /** The engine has no CASE: the position of a row's key among the keys is that of its value among the values. */
  toExpression(position: string, repeats: number): GuardedSql {
    if (repeats > 1 && this.#field !== undefined) return repeatExpression(this.#first, this.#field, repeats);
    if (this.#isShared) return this.#first;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Made of literals and of a name that a guard has read.
    return `(make_array(${this.#values.join(', ')})[${position}])` as GuardedSql;
  }

  #toValue(expression: GuardedSql): string | undefined {
    const literal = toLiteralExpression(expression);
    return literal === undefined || this.#field === undefined ? undefined : toGroupValue(literal, this.#field);
  }
}

/** Calls that give another value each time: whether one plan gives as many as several would is not ours to promise. */
const CHANCY_FUNCTIONS: ReadonlySet<string> = new Set(['random', 'uuid']);

function isChancy(expression: GuardedSql): boolean {
  for (const { text } of readTokens(expression)) if (CHANCY_FUNCTIONS.has(text.toLowerCase())) return true;
  return false;
}
