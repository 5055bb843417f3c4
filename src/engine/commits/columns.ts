import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { formatFieldPath, quotePath, requireField, resolveField } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import type { Schema, DataType, Field } from '../../model/schema.ts';
import type { CommitPlan, Committed } from './commit-plan.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeAlteration, NativeTable } from '../native/native.ts';
import { readSchema } from '../tables/table-handle.ts';
import type { OpenTable } from '../tables/table-handle.ts';
import type { GuardedSql } from '../../model/query.ts';
import { checkColumnName } from '../../arrow/schema/schema-rules.ts';
import { describeType, formatArrowCast } from '../../arrow/schema/type-name.ts';
import { childFields } from '../../model/schema.ts';
import { sqlString } from '../updates/assignments.ts';

/** Changes of columns. Each does all that it was asked, or nothing. */
export function planAddColumns(columns: readonly NewColumn[], columnsMax: number): CommitPlan<object> {
  return {
    // What allows nulls follows as a commit of its own, and is not missed when it is not made.
    kinds: ['merge'],
    async prepare(table) {
      checkAdditions(columns, await table.schema(), columnsMax);
      return { expected: {}, commit: async () => addColumns(table, columns) };
    },
  };
}

export function planAlterColumns(alterations: readonly ColumnAlteration[]): CommitPlan<object> {
  return {
    kinds: ['project', 'merge'],
    async prepare(table) {
      checkAlterations(alterations, await table.schema());
      const native = alterations.map(toNativeAlteration);
      return { expected: {}, commit: async () => changeColumns(table, async () => table.native.alterColumns(native)) };
    },
  };
}

export function planDropColumns(paths: readonly FieldPath[]): CommitPlan<object> {
  return {
    kinds: ['project', 'merge'],
    async prepare(table) {
      checkDrops(paths, await table.schema());
      const names = paths.map(formatFieldPath);
      return { expected: {}, commit: async () => changeColumns(table, async () => table.native.dropColumns(names)) };
    },
  };
}

async function changeColumns(table: OpenTable, change: () => Promise<{ version: number }>): Promise<Committed<object>> {
  const { version } = await engineCall(change);
  table.forget();
  return { version, outcome: {} };
}

async function addColumns(table: OpenTable, columns: readonly NewColumn[]): Promise<Committed<object>> {
  const additions = columns.map((column) => ({ name: column.name, valueSql: toValueSql(column) }));
  const added = await changeColumns(table, async () => table.native.addColumns(additions));
  const version = (await allowNulls(table.native, columns)) ?? added.version;
  return { version, outcome: {} };
}

/**
 * A column of constants comes out as one that may not be null, and rows without it would be refused from then on. The
 * column is there already, so a failure here is none of the caller's.
 */
async function allowNulls(native: NativeTable, columns: readonly NewColumn[]): Promise<number | undefined> {
  try {
    const schema = await readSchema(native);
    const strict = columns.filter(({ name }) => isStrict(schema, name));
    if (strict.length === 0) return undefined;
    const alterations = strict.map(({ name }) => ({ path: formatFieldPath([name]), nullable: true }));
    return (await native.alterColumns(alterations)).version;
  } catch {
    return undefined;
  }
}

function isStrict(schema: Schema, name: string): boolean {
  return schema.fields.some((field) => field.name === name && !field.nullable);
}

function toValueSql(column: NewColumn): string {
  return column.kind === 'calculated' ? column.expression : nullOf(column.type);
}

function toNativeAlteration({ path, rename, typeJson, nullable }: ColumnAlteration): NativeAlteration {
  return {
    path: formatFieldPath(path),
    ...(rename === undefined ? {} : { rename }),
    ...(typeJson === undefined ? {} : { dataType: typeJson }),
    ...(nullable === undefined ? {} : { nullable }),
  };
}

/** A column that is not there yet, with its values for the rows that are: calculated, or null. */
export type NewColumn =
  | { readonly kind: 'calculated'; readonly name: string; readonly expression: GuardedSql }
  | { readonly kind: 'null'; readonly name: string; readonly type: DataType };

/** What is `undefined` stays as it is. */
export interface ColumnAlteration {
  readonly path: FieldPath;
  readonly rename: string | undefined;
  /** The new type in Lance's own JSON form. */
  readonly typeJson: string | undefined;
  readonly nullable: boolean | undefined;
}

/** What the engine would do without a word, or answer with a panic, is refused here. */

export function checkAdditions(columns: readonly NewColumn[], schema: Schema, columnsMax: number): void {
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

/** A null of this type, as SQL. The engine cannot write a dictionary without values. */
export function nullOf(type: DataType): string {
  const text = type.kind === 'dictionary' || type.kind === 'null' ? undefined : formatArrowCast(type);
  if (text !== undefined) return `arrow_cast(NULL, ${sqlString(text)})`;
  throw invalidInput(`A column of type ${describeType(type)} cannot be added without values.`);
}

export function checkAlterations(alterations: readonly ColumnAlteration[], schema: Schema): void {
  refuseDoubled(alterations.map(({ path }) => path));
  const renamed = new Map<string, string>();
  for (const alteration of alterations) {
    const { path, rename, typeJson } = alteration;
    requireOutsideLists(schema, path);
    if (typeJson !== undefined && path.length > 1) throw nestedType(path);
    if (rename === undefined) continue;
    checkNewName(path, rename);
    renamed.set(formatFieldPath(path), rename);
  }
  for (const { path } of alterations) refuseSameNames(schema, path, renamed);
}

export function checkDrops(paths: readonly FieldPath[], schema: Schema): void {
  refuseDoubled(paths);
  const dropped = new Set(paths.map(formatFieldPath));
  for (const path of paths) {
    requireOutsideLists(schema, path);
    const inside = path.findIndex((_, index) => index > 0 && dropped.has(formatFieldPath(pathTo(path, index))));
    if (inside !== -1) throw insideAnother(path, pathTo(path, inside));
    const siblings = siblingsOf(schema, path);
    if (siblings.every(({ name }) => dropped.has(formatFieldPath(beside(path, name))))) throw nothingLeft(path);
  }
}

function checkNewName(path: FieldPath, name: string): void {
  if (path.length === 1) checkColumnName(name);
  else if (name === '') throw new ServiceError('TableSchemaValidationError', 'The new name of a field is empty.');
}

/** All names beside the renamed one, as they will be. */
function refuseSameNames(schema: Schema, path: FieldPath, renamed: ReadonlyMap<string, string>): void {
  const name = renamed.get(formatFieldPath(path));
  if (name === undefined) return;
  const names = siblingsOf(schema, path).map((field) => {
    return renamed.get(formatFieldPath(beside(path, field.name))) ?? field.name;
  });
  if (names.filter((each) => each === name).length > 1) throw columnExists(beside(path, name));
}

/** The item of a list cannot be changed by itself, nor what is in it. */
function requireOutsideLists(schema: Schema, path: FieldPath): void {
  requireField(schema, path);
  for (let length = 1; length < path.length; length += 1) {
    if (resolveField(schema, pathTo(path, length))?.type.kind === 'struct') continue;
    throw invalidInput(`The field ${quotePath(path)} is inside a list and cannot be changed by itself.`);
  }
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
    if (seen.has(text)) {
      throw invalidInput(`The field ${quotePath(path)} is named more than once.`);
    }
    seen.add(text);
  }
}

function columnExists(path: FieldPath): ServiceError {
  return invalidInput(`The table has a field ${quotePath(path)} already.`, 'Choose another name.');
}

function nestedType(path: FieldPath): ServiceError {
  return invalidInput(
    `The type of the nested field ${quotePath(path)} cannot be changed.`,
    'Only the types of top-level columns can.',
  );
}

function insideAnother(path: FieldPath, parent: FieldPath): ServiceError {
  return invalidInput(
    `The field ${quotePath(path)} is inside ${quotePath(parent)}, which is dropped too.`,
    'Name the outer field alone.',
  );
}

function nothingLeft(path: FieldPath): ServiceError {
  if (path.length === 1) return invalidInput('Not all columns of a table can be dropped.');
  const struct = pathTo(path, path.length - 1);
  return invalidInput(`Nothing would be left in the struct ${quotePath(struct)}.`, 'Drop the struct itself.');
}
