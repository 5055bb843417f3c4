import { cellOf } from '../../../../../src/client/rows.ts';
import type { JsonRow, JsonValue } from '../../../../../src/client/rows.ts';
import { formatFieldPath, sqlFieldReference, sqlString } from '../../../../../src/model/field-path.ts';
import { toText } from '../../../parts/grid/cell.tsx';
import { isText } from '../../../parts/grid/field-type.ts';
import type { FieldShape } from '../../../parts/grid/field-type.ts';

/** Columns whose values together identify rows. */
export interface RowKey {
  readonly names: readonly string[];
  /** Declared by the table; otherwise only its name suggests it. */
  readonly isDeclared: boolean;
}

/** One value for each column of a key. */
export type KeyValues = readonly JsonValue[];

const PRIMARY_KEY = 'lance-schema:unenforced-primary-key';
const PRIMARY_KEY_POSITION = 'lance-schema:unenforced-primary-key:position';
const USUAL_NAMES = ['id', '_id', 'uuid', 'key'];

/** The declared primary key, otherwise a column with the name of one. Values are checked before use. */
export function findKey(fields: readonly FieldShape[]): RowKey | undefined {
  const declared = fields
    .filter(({ metadata = {} }) => metadata[PRIMARY_KEY] === 'true' || metadata[PRIMARY_KEY_POSITION] !== undefined)
    .toSorted((one, other) => positionOf(one) - positionOf(other));
  const isDeclared = declared.length > 0;
  const usual = USUAL_NAMES.flatMap((name) => fields.find((field) => field.name === name) ?? []).slice(0, 1);
  const found = isDeclared ? declared : usual;
  return found.length === 0 || !found.every(isKeyType)
    ? undefined
    : { names: found.map(({ name }) => name), isDeclared };
}

function positionOf({ metadata }: FieldShape): number {
  return Number(metadata?.[PRIMARY_KEY_POSITION] ?? 0);
}

export function isKeyType({ type }: FieldShape): boolean {
  return isText(type) || /^u?int\d+$/.test(type.type);
}

/** In the form of requests that take field paths. */
export function pathsOf({ names }: RowKey): readonly string[] {
  return names.map((name) => formatFieldPath([name]));
}

export function keyOf(row: JsonRow, { names }: RowKey): KeyValues {
  return names.map((name) => cellOf(row, name) ?? null);
}

/** `undefined` if a value is null or a key occurs twice: then they do not identify rows. */
export function keysOf(rows: readonly JsonRow[], key: RowKey): readonly KeyValues[] | undefined {
  const keys = rows.map((row) => keyOf(row, key));
  const isUnique = new Set(keys.map(keyId)).size === keys.length;
  return isUnique && keys.every((values) => !values.includes(null)) ? keys : undefined;
}

export function whereKey({ names }: RowKey, keys: readonly KeyValues[]): string {
  const [first = '', ...others] = names.map((name) => sqlFieldReference([name]));
  if (others.length === 0) return `${first} IN (${keys.map(([value = null]) => toLiteral(value)).join(', ')})`;
  const columns = [first, ...others];
  return keys
    .map((values) => `(${columns.map((column, at) => `${column} = ${toLiteral(values[at] ?? null)}`).join(' AND ')})`)
    .join(' OR ');
}

/** The same text for the same key. */
export function keyId(values: KeyValues): string {
  return JSON.stringify(values.map(valueText));
}

/** `sku 7`, `region eu, sku 7`. */
export function describeKey({ names }: RowKey, values: KeyValues): string {
  return names.map((name, at) => `${name} ${valueText(values[at])}`).join(', ');
}

/** As text, because large integers are bigints or numbers, depending on their size. */
export function valueText(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : toText(value ?? null);
}

export function whereRowId(rowIds: readonly string[]): string {
  return `_rowid IN (${rowIds.join(', ')})`;
}

function toLiteral(value: JsonValue): string {
  return typeof value === 'string' ? sqlString(value) : toText(value);
}
