import { formatArrowCast } from '../../arrow/schema/type-name.ts';
import { functionRule } from '../../guard/sql/functions.ts';
import { readTokens } from '../../guard/sql/tokenizer.ts';
import { sqlString } from '../../model/field-path.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { Field, Schema } from '../../model/schema.ts';
import type { AssignmentTree } from './assignments.ts';
import { toGroupKey, toGroupValue, toLiteralExpression } from './point-update.ts';
import type { GroupKey, KeyName, PointUpdate } from './point-update.ts';
import { REPEATS_MAX, isRepeatable, repeatExpression } from './repeated-expression.ts';

/** The total of all keys and expressions of a group. The engine repeats a list of values in memory for every row. */
const CHARACTERS_MAX = 16_384;

/**
 * Updates that can be merged with the same result. Either each updates the rows with another key in the same column,
 * which none of them changes, so no row belongs to two of them; and all set the same columns, by the same expression or
 * to literals that the engine converts losslessly. Or all are the same update of the same key, and its expressions can
 * be applied to their own results.
 */
export class UpdateGroup {
  readonly #keyName: KeyName;
  readonly #keyField: Field;
  readonly #columns: ReadonlyMap<string, GroupColumn>;
  readonly #keys = new Map<string, GroupKey>();
  #characters = 0;
  /** How often its only key is updated; 1 if there are several keys. */
  #repeats = 1;

  private constructor(first: PointUpdate, keyField: Field, schema: Schema) {
    this.#keyName = first.key;
    this.#keyField = keyField;
    const columns = [...first.expressions];
    this.#columns = new Map(columns.map(([name, sql]) => [name, new GroupColumn(sql, findField(schema, name))]));
  }

  /** `undefined` if the update cannot share a commit. */
  static start(first: PointUpdate, schema: Schema): UpdateGroup | undefined {
    const keyField = findField(schema, first.key.name);
    if (keyField === undefined || first.expressions.has(keyField.name)) return undefined;
    const group = new UpdateGroup(first, keyField, schema);
    return group.add(first) ? group : undefined;
  }

  /** Whether the update was added to the group. */
  add(update: PointUpdate): boolean {
    const key = update.key.sql === this.#keyName.sql ? toGroupKey(update.literal, this.#keyField) : undefined;
    if (key === undefined) return false;
    if (this.#keys.has(key.json)) return this.#repeat(update.expressions);
    if (this.#repeats > 1) return false;
    if (!this.#everyColumn(update.expressions, (column, expression) => column.fits(expression))) return false;
    const characters = this.#characters + charactersOf(key, update);
    if (characters > CHARACTERS_MAX) return false;
    this.#characters = characters;
    this.#keys.set(key.json, key);
    for (const [name, expression] of update.expressions) this.#columns.get(name)?.add(expression);
    return true;
  }

  /** One update that does the work of all; `keys` are the members' keys as JSON, in order. */
  toUpdate() {
    const keys = [...this.#keys.values()];
    const list = keys.map(({ sql }) => sql).join(', ');
    const position = this.#positionIn(list);
    const columns = [...this.#columns].map(([name, column]) => {
      return [name, { kind: 'value', expression: column.toExpression(position, this.#repeats) }] as const;
    });
    const tree: AssignmentTree = new Map(columns);
    return {
      keyField: this.#keyField,
      keys: keys.flatMap(({ json }) => Array.from({ length: this.#repeats }, () => json)),
      tree,
      predicate: `(${this.#keyName.sql} IN (${list}))`,
    };
  }

  /** The same update of the same key again, such as a counter: applied to the previous result. */
  #repeat(expressions: ReadonlyMap<string, GuardedSql>): boolean {
    if (this.#keys.size > 1 || this.#repeats === REPEATS_MAX) return false;
    if (!this.#everyColumn(expressions, (column, expression) => column.repeats(expression))) return false;
    this.#repeats += 1;
    return true;
  }

  #everyColumn(
    expressions: ReadonlyMap<string, GuardedSql>,
    test: (column: GroupColumn, expression: GuardedSql) => boolean,
  ): boolean {
    if (expressions.size !== this.#columns.size) return false;
    return [...expressions].every(([name, expression]) => {
      const column = this.#columns.get(name);
      return column !== undefined && test(column, expression);
    });
  }

  /** The position of a row's key in the list of keys, starting at 1. */
  #positionIn(keys: string): string {
    const type = sqlString(`List(${formatArrowCast(this.#keyField.type) ?? ''})`);
    return `CAST(array_position(arrow_cast(make_array(${keys}), ${type}), ${this.#keyName.sql}) AS BIGINT)`;
  }
}

/** By its case-sensitive name, which the engine tries first; updates that need its second try do not share a commit. */
function findField(schema: Schema, name: string): Field | undefined {
  return schema.fields.find((field) => field.name === name);
}

function charactersOf(key: GroupKey, { expressions }: PointUpdate): number {
  return [...expressions.values()].reduce((sum, expression) => sum + expression.length, key.sql.length);
}

/** What the members of a group assign to one column: all the same expression, or a literal each. */
class GroupColumn {
  readonly #first: GuardedSql;
  readonly #field: Field | undefined;
  readonly #values: (string | undefined)[] = [];
  #isShared = true;
  #isLiteral = true;

  constructor(first: GuardedSql, field: Field | undefined) {
    this.#first = first;
    this.#field = field;
  }

  fits(expression: GuardedSql): boolean {
    if (this.#isShared && expression === this.#first) return !differsByRow(expression);
    return this.#isLiteral && this.#toValue(expression) !== undefined;
  }

  add(expression: GuardedSql): void {
    const value = this.#toValue(expression);
    this.#values.push(value);
    this.#isShared &&= expression === this.#first;
    this.#isLiteral &&= value !== undefined;
  }

  /** Whether the same update may follow, applied to the result of this one. */
  repeats(expression: GuardedSql): boolean {
    return this.#isShared && expression === this.#first && isRepeatable(expression, this.#field);
  }

  /** The engine has no CASE, so each row takes the value at the position of its key. */
  toExpression(position: string, repeats: number): GuardedSql {
    if (repeats > 1 && this.#field !== undefined) return repeatExpression(this.#first, this.#field, repeats);
    if (this.#isShared) return this.#first;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Consists of literals and a name that a guard has read.
    return `(make_array(${this.#values.join(', ')})[${position}])` as GuardedSql;
  }

  #toValue(expression: GuardedSql): string | undefined {
    const literal = toLiteralExpression(expression);
    return literal === undefined || this.#field === undefined ? undefined : toGroupValue(literal, this.#field);
  }
}

/** Whether one update could call such a function more or less often than several updates. */
function differsByRow(expression: GuardedSql): boolean {
  return [...readTokens(expression)].some(({ text }) => functionRule(text).differsByRow === true);
}
