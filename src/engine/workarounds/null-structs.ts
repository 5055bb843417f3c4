import { sqlFieldReference } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import { childFields } from '../../model/schema.ts';
import type { DataType, Field, Schema } from '../../model/schema.ts';

/**
 * A predicate that matches the same rows and makes the engine read every struct whole. Otherwise it reads the narrow
 * fields of a struct with the filter and the wide ones afterwards, and where all rows of a batch are null in a struct,
 * puts them together as a struct of nulls: an update of any other column then writes that back.
 */
export function touchNullStructs(predicate: string, schema: Schema): string {
  const touches = schema.fields.flatMap((field) => touchField(field, [field.name]));
  return touches.length === 0 ? predicate : `${predicate} AND ${joinBalanced(touches)}`;
}

/** The same rows, found by reading a column too; the predicate as it is where none may be null. */
export function touchAny(predicate: string, { fields }: Schema): string {
  const field =
    fields.find(({ nullable, type }) => nullable && !holdsStruct(type)) ?? fields.find((each) => each.nullable);
  if (field === undefined) return predicate;
  const reference = sqlFieldReference([field.name]);
  return `(${predicate}) AND (${reference} IS NULL OR ${reference} IS NOT NULL)`;
}

/** A test on a field that may not be null is optimised away, so there the fields below it are touched. */
function touchField(field: Field, path: FieldPath): string[] {
  if (!holdsStruct(field.type)) return [];
  if (field.nullable) {
    const reference = sqlFieldReference(path);
    return [`(${reference} IS NULL OR ${reference} IS NOT NULL)`];
  }
  if (field.type.kind !== 'struct') return [];
  return field.type.children.flatMap((child) => touchField(child, [...path, child.name]));
}

function holdsStruct(type: DataType): boolean {
  return type.kind === 'struct' || childFields(type).some((child) => holdsStruct(child.type));
}

/** A long chain of `AND` goes as deep as it is long in the engine's planner. */
function joinBalanced(conditions: readonly string[]): string {
  if (conditions.length === 1) return conditions[0] ?? '';
  const middle = Math.ceil(conditions.length / 2);
  return `(${joinBalanced(conditions.slice(0, middle))} AND ${joinBalanced(conditions.slice(middle))})`;
}
