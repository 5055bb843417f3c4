import { checkColumnName } from '../../arrow/schema/schema-rules.ts';
import { describeType, formatArrowCast } from '../../arrow/schema/type-name.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { formatFieldPath, quotePath, requireField, sqlString } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import type { GuardedSql } from '../../model/query.ts';
import { childFields } from '../../model/schema.ts';
import type { DataType, Field, Schema } from '../../model/schema.ts';
import type { NativeAlteration, NativeTable } from '../native/native.ts';
import { readSchema } from '../tables/table-handle.ts';
import { planChange } from './commit-plan.ts';
import type { CommitPlan } from './commit-plan.ts';
import { isInsideList } from './schema-fit.ts';

/** A column to add, with its values for existing rows: calculated, or null. */
export type NewColumn =
  | { readonly kind: 'calculated'; readonly name: string; readonly expression: GuardedSql }
  | { readonly kind: 'null'; readonly name: string; readonly type: DataType };

/** `undefined` means no change. */
export interface ColumnAlteration {
  readonly path: FieldPath;
  readonly rename: string | undefined;
  /** The new type in Lance's JSON form. */
  readonly typeJson: string | undefined;
  readonly nullable: boolean | undefined;
}

// Each plan changes all that it was asked to, or nothing. Checks refuse what the engine would do silently, or panic at.

export function planAddColumns(columns: readonly NewColumn[], columnsMax: number): CommitPlan<object> {
  // Allowing nulls is a second commit, which may be missing.
  return planChange(['merge'], async (table) => {
    checkAdditions(columns, await table.schema(), columnsMax);
    return async () => addColumns(table.native, columns);
  });
}

export function planAlterColumns(alterations: readonly ColumnAlteration[]): CommitPlan<object> {
  return planChange(['project', 'merge'], async (table) => {
    checkAlterations(alterations, await table.schema());
    return async () => table.native.alterColumns(alterations.map(toNativeAlteration));
  });
}

export function planDropColumns(paths: readonly FieldPath[]): CommitPlan<object> {
  return planChange(['project', 'merge'], async (table) => {
    checkDrops(paths, await table.schema());
    return async () => table.native.dropColumns(paths.map(formatFieldPath));
  });
}

async function addColumns(native: NativeTable, columns: readonly NewColumn[]) {
  const added = await native.addColumns(columns.map((column) => ({ name: column.name, valueSql: toValueSql(column) })));
  const allowed = await allowNulls(native, columns);
  return { version: (allowed ?? added).version, firstVersion: added.version };
}

/**
 * The engine makes a column of constants non-nullable, and would refuse rows without it from then on. The column is
 * committed already, so a failure here is not the caller's.
 */
async function allowNulls(native: NativeTable, columns: readonly NewColumn[]) {
  try {
    const { fields } = await readSchema(native);
    const strict = columns.filter(({ name }) => fields.some((field) => field.name === name && !field.nullable));
    if (strict.length === 0) return undefined;
    const alterations = strict.map(({ name }) => ({ path: formatFieldPath([name]), nullable: true }));
    return await native.alterColumns(alterations);
  } catch {
    return undefined;
  }
}

/** The engine cannot write a dictionary without values. */
function toValueSql(column: NewColumn): string {
  if (column.kind === 'calculated') return column.expression;
  const { type } = column;
  const text = type.kind === 'dictionary' || type.kind === 'null' ? undefined : formatArrowCast(type);
  if (text !== undefined) return `arrow_cast(NULL, ${sqlString(text)})`;
  throw invalidInput(`A column of type ${describeType(type)} cannot be added without values.`);
}

function toNativeAlteration({ path, rename, typeJson, nullable }: ColumnAlteration): NativeAlteration {
  return {
    path: formatFieldPath(path),
    ...(rename === undefined ? {} : { rename }),
    ...(typeJson === undefined ? {} : { dataType: typeJson }),
    ...(nullable === undefined ? {} : { nullable }),
  };
}

function checkAdditions(columns: readonly NewColumn[], schema: Schema, columnsMax: number): void {
  const names = new Set(schema.fields.map(({ name }) => name));
  for (const { name } of columns) {
    checkColumnName(name);
    if (names.has(name)) throw columnExists([name]);
    names.add(name);
  }
  const count = countFields(schema.fields) + columns.length;
  if (count > columnsMax) {
    throw invalidInput(`The table would have ${count} columns; at most ${columnsMax} are allowed.`);
  }
}

function checkAlterations(alterations: readonly ColumnAlteration[], schema: Schema): void {
  refuseDoubled(alterations.map(({ path }) => path));
  const renamed = new Map<string, string>();
  for (const { path, rename, typeJson } of alterations) {
    requireOutsideLists(schema, path);
    if (typeJson !== undefined && path.length > 1) {
      throw invalidInput(
        `The type of the nested field ${quotePath(path)} cannot be changed.`,
        'Only the types of top-level columns can.',
      );
    }
    if (rename === undefined) continue;
    if (path.length === 1) checkColumnName(rename);
    else if (rename === '') throw new ServiceError('TableSchemaValidationError', 'The new name of a field is empty.');
    renamed.set(formatFieldPath(path), rename);
  }
  for (const { path } of alterations) refuseSameNames(schema, path, renamed);
}

function checkDrops(paths: readonly FieldPath[], schema: Schema): void {
  refuseDoubled(paths);
  const dropped = new Set(paths.map(formatFieldPath));
  for (const path of paths) {
    requireOutsideLists(schema, path);
    const inside = path.findIndex((_, index) => index > 0 && dropped.has(formatFieldPath(pathTo(path, index))));
    if (inside !== -1) {
      throw invalidInput(
        `The field ${quotePath(path)} is inside ${quotePath(pathTo(path, inside))}, which is dropped too.`,
        'Name the outer field alone.',
      );
    }
    const siblings = siblingsOf(schema, path);
    if (siblings.every(({ name }) => dropped.has(formatFieldPath(beside(path, name))))) throw nothingLeft(path);
  }
}

/** Compares the names of all siblings as they will be. */
function refuseSameNames(schema: Schema, path: FieldPath, renamed: ReadonlyMap<string, string>): void {
  const name = renamed.get(formatFieldPath(path));
  if (name === undefined) return;
  const names = siblingsOf(schema, path).map((field) => {
    return renamed.get(formatFieldPath(beside(path, field.name))) ?? field.name;
  });
  if (names.filter((each) => each === name).length > 1) throw columnExists(beside(path, name));
}

/** Neither the item of a list nor a field inside it can be changed by itself. */
function requireOutsideLists(schema: Schema, path: FieldPath): void {
  requireField(schema, path);
  if (!isInsideList(schema, path)) return;
  throw invalidInput(`The field ${quotePath(path)} is inside a list and cannot be changed by itself.`);
}

function siblingsOf(schema: Schema, path: FieldPath): readonly Field[] {
  if (path.length === 1) return schema.fields;
  return childFields(requireField(schema, pathTo(path, path.length - 1)).type);
}

/** The first names of a path; at least one. */
function pathTo(path: FieldPath, length: number): FieldPath {
  return [path[0], ...path.slice(1, length)];
}

function beside(path: FieldPath, name: string): FieldPath {
  return path.length === 1 ? [name] : [path[0], ...path.slice(1, -1), name];
}

function countFields(fields: readonly Field[]): number {
  return fields.reduce((sum, { type }) => sum + 1 + countFields(childFields(type)), 0);
}

function refuseDoubled(paths: readonly FieldPath[]): void {
  const seen = new Set<string>();
  for (const path of paths) {
    const text = formatFieldPath(path);
    if (seen.has(text)) throw invalidInput(`The field ${quotePath(path)} is named more than once.`);
    seen.add(text);
  }
}

function columnExists(path: FieldPath): ServiceError {
  return invalidInput(`The table has a field ${quotePath(path)} already.`, 'Choose another name.');
}

function nothingLeft(path: FieldPath): ServiceError {
  if (path.length === 1) return invalidInput('Not all columns of a table can be dropped.');
  const struct = pathTo(path, path.length - 1);
  return invalidInput(`Nothing would be left in the struct ${quotePath(struct)}.`, 'Drop the struct itself.');
}
