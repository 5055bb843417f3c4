import { formatArrowCast } from '../../arrow/schema/type-name.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { Field, Schema } from '../../model/schema.ts';
import type { AssignmentTree } from './assignments.ts';
import { toGroupKey, toPointUpdate, toGroupValue, toLiteralExpression } from './point-update.ts';
import type { GroupKey, KeyName, PointUpdate, UpdatePlan } from './point-update.ts';
import { REPEATS_MAX, isRepeatable, repeatExpression } from './repeated-expression.ts';
import { sqlString } from './assignments.ts';
import { readTokens } from '../../guard/sql/tokenizer.ts';

/** Of all keys and expressions in one group. A list of values is repeated for every row in the engine's memory. */
const CHARACTERS_MAX = 16_384;

/** One update in place of several: `keys` are those of its members, in order. */
export interface GroupedUpdate {
  readonly keyField: Field;
  readonly keys: readonly string[];
  readonly tree: AssignmentTree;
  readonly predicate: string;
}

/**
 * Updates that may run as one, because nobody could tell the difference: each is about the rows in which the same column
 * has a value of its own, none of them changes that column, so no row belongs to two of them; and all of them set the
 * same columns, by the same expression or to plain values that the engine converts one by one as it would alone. Or all of
 * them are the same update of the same rows, and its expressions can be applied to their own results.
 */
export class UpdateGroup {
  readonly #keyName: KeyName;
  readonly #keyField: Field;
  readonly #columns: ReadonlyMap<string, GroupColumn>;
  readonly #keys = new Map<string, GroupKey>();
  #characters = 0;
  /** How often its only key is updated; 1 when there are several keys. */
  #repeats = 1;

  private constructor(first: PointUpdate, keyField: Field, schema: Schema) {
    this.#keyName = first.key;
    this.#keyField = keyField;
    const columns = [...first.expressions];
    this.#columns = new Map(columns.map(([name, sql]) => [name, new GroupColumn(sql, findField(schema, name))]));
  }

  /** `undefined` when the update is not one that others can join. */
  static start(plan: UpdatePlan, schema: Schema): UpdateGroup | undefined {
    const first = toPointUpdate(plan);
    const keyField = first === undefined ? undefined : findField(schema, first.key.name);
    if (first === undefined || keyField === undefined || first.expressions.has(keyField.name)) return undefined;
    const group = new UpdateGroup(first, keyField, schema);
    return group.add(plan) ? group : undefined;
  }

  /** The same decision for all at once; `undefined` when one of them does not fit. */
  static of(plans: readonly UpdatePlan[], schema: Schema): UpdateGroup | undefined {
    const [first, ...others] = plans;
    const group = first === undefined ? undefined : UpdateGroup.start(first, schema);
    return group !== undefined && others.every((plan) => group.add(plan)) ? group : undefined;
  }

  /** Whether the update now belongs to the group. */
  add(plan: UpdatePlan): boolean {
    const update = toPointUpdate(plan);
    if (update === undefined || update.key.sql !== this.#keyName.sql) return false;
    const key = toGroupKey(update.literal, this.#keyField);
    if (key !== undefined && this.#keys.has(key.value)) return this.#repeat(update.expressions);
    if (key === undefined || this.#repeats > 1 || !this.#fits(update.expressions)) return false;
    const characters = this.#characters + charactersOf(key, update);
    if (characters > CHARACTERS_MAX) return false;
    this.#characters = characters;
    this.#keys.set(key.value, key);
    for (const [name, expression] of update.expressions) this.#columns.get(name)?.add(expression);
    return true;
  }

  toUpdate(): GroupedUpdate {
    const keys = [...this.#keys.values()];
    const list = keys.map(({ sql }) => sql).join(', ');
    const position = this.#positionIn(list);
    const columns = [...this.#columns].map(([name, column]) => {
      return [name, { kind: 'value', expression: column.toExpression(position, this.#repeats) }] as const;
    });
    return {
      keyField: this.#keyField,
      keys: keys.flatMap(({ value }) => Array.from({ length: this.#repeats }, () => value)),
      tree: new Map(columns),
      predicate: `(${this.#keyName.sql} IN (${list}))`,
    };
  }

  /** The same update of the same row again, such as one of a counter: it is applied to the result of the one before. */
  #repeat(expressions: ReadonlyMap<string, GuardedSql>): boolean {
    if (this.#keys.size > 1 || this.#repeats === REPEATS_MAX || expressions.size !== this.#columns.size) return false;
    for (const [name, expression] of expressions) {
      if (this.#columns.get(name)?.repeats(expression) !== true) return false;
    }
    this.#repeats += 1;
    return true;
  }

  #fits(expressions: ReadonlyMap<string, GuardedSql>): boolean {
    if (expressions.size !== this.#columns.size) return false;
    for (const [name, expression] of expressions) {
      if (this.#columns.get(name)?.fits(expression) !== true) return false;
    }
    return true;
  }

  /** From 1, the position of a row's key in the list of keys. */
  #positionIn(keys: string): string {
    const type = sqlString(`List(${formatArrowCast(this.#keyField.type) ?? ''})`);
    return `CAST(array_position(arrow_cast(make_array(${keys}), ${type}), ${this.#keyName.sql}) AS BIGINT)`;
  }
}

/** By its exact name, which the engine looks for first; what it finds only without regard to case is left alone. */
function findField(schema: Schema, name: string): Field | undefined {
  return schema.fields.find((field) => field.name === name);
}

function charactersOf(key: GroupKey, { expressions }: PointUpdate): number {
  return [...expressions.values()].reduce((sum, expression) => sum + expression.length, key.sql.length);
}

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
