import { sqlFieldReference } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import { childFields } from '../../model/schema.ts';
import type { DataType, Field, Schema } from '../../model/schema.ts';

/**
 * Seen in @lancedb/lancedb 0.31.0: a filtered scan reads the narrow fields of a struct with the filter and the wide ones
 * afterwards, and where all rows of a batch are null in the struct, assembles a struct of nulls. An update of any other
 * column then writes that back. Can go when a filtered scan keeps null structs; the tests of update show it.
 *
 * Returns a predicate that matches the same rows, with always-true tests that make the engine read every struct whole.
 */
export function keepNullStructs(predicate: string, schema: Schema): string {
  const tests = schema.fields.flatMap((field) => toReadTests(field, [field.name]));
  return tests.length === 0 ? predicate : `${predicate} AND ${joinBalanced(tests)}`;
}

/**
 * Seen in @lancedb/lancedb 0.31.0: a filter on row ids alone takes the rows, and applies limit and offset before the rest
 * of the filter. Adds an always-true test to force a column read, which prevents that; none when no column may be null.
 */
export function forceColumnRead(predicate: string, { fields }: Schema): string {
  const field =
    fields.find(({ nullable, type }) => nullable && !holdsStruct(type)) ?? fields.find((each) => each.nullable);
  return field === undefined ? predicate : `(${predicate}) AND ${toReadTest([field.name])}`;
}

export function holdsStruct(type: DataType): boolean {
  return type.kind === 'struct' || childFields(type).some((child) => holdsStruct(child.type));
}

/** The engine optimises away a test on a field that may not be null; the fields below it are tested instead. */
function toReadTests(field: Field, path: FieldPath): string[] {
  if (!holdsStruct(field.type)) return [];
  if (field.nullable) return [toReadTest(path)];
  if (field.type.kind !== 'struct') return [];
  return field.type.children.flatMap((child) => toReadTests(child, [...path, child.name]));
}

function toReadTest(path: FieldPath): string {
  const reference = sqlFieldReference(path);
  return `(${reference} IS NULL OR ${reference} IS NOT NULL)`;
}

/** The engine's planner recurses as deep as a chain of `AND` is long. */
function joinBalanced(conditions: readonly string[]): string {
  if (conditions.length === 1) return conditions[0] ?? '';
  const middle = Math.ceil(conditions.length / 2);
  return `(${joinBalanced(conditions.slice(0, middle))} AND ${joinBalanced(conditions.slice(middle))})`;
}
