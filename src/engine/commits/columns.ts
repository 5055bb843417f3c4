import { readFileSchema } from '../../arrow/schema/schema-reader.ts';
import { EXTENSION_NAME_KEY, checkColumnName } from '../../arrow/schema/schema-rules.ts';
import { describeType, formatArrowCast } from '../../arrow/schema/type-name.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { formatFieldPath, quotePath, requireField, resolveField, sqlString } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import type { GuardedSql } from '../../model/query.ts';
import { COMPUTED_KEY, childFields, computedText } from '../../model/schema.ts';
import type { DataType, Field, Schema } from '../../model/schema.ts';
import { formatCount } from '../../model/value-text.ts';
import { checkDefinition, findReaders } from '../computed/definitions.ts';
import type { Scratch } from '../computed/scratch.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeAlteration } from '../native/native.ts';
import type { EngineParts } from '../parts.ts';
import { useExactNames } from '../workarounds/exact-names.ts';
import { planChange } from './commit-plan.ts';
import type { CommitPlan } from './commit-plan.ts';
import { isInsideList, isShortened } from './schema-fit.ts';

/** A column to add, with calculated values or nulls for existing rows. */
export type NewColumn =
  | { readonly kind: 'calculated'; readonly name: string; readonly expression: GuardedSql }
  | { readonly kind: 'null'; readonly name: string; readonly type: DataType };

/** A column that is null in existing rows, and computed in all rows written later. */
export interface NewComputedColumn {
  readonly name: string;
  /** As the writer sent it; this text is stored. */
  readonly text: string;
  readonly expression: GuardedSql;
}

/** `undefined` means no change. */
export interface ColumnAlteration {
  readonly path: FieldPath;
  readonly rename: string | undefined;
  readonly type: DataType | undefined;
  /** The new type in Lance's JSON form. */
  readonly typeJson: string | undefined;
  readonly nullable: boolean | undefined;
}

// Each plan applies the whole request or nothing. Its checks refuse what the engine would do silently or panic at.

export function planAddColumns(columns: readonly NewColumn[], columnsMax: number): CommitPlan<object> {
  return planChange(['merge'], async (table) => {
    const schema = await table.schema();
    checkAdditions(columns, schema, columnsMax);
    const values = columns.map((column) => ({ name: column.name, valueSql: toValueSql(column, schema) }));
    return async () => table.native.addColumns(values);
  });
}

/** One commit: the engine adds columns of nulls with their field metadata. */
export function planAddComputedColumns(
  { scratch }: EngineParts,
  columns: readonly NewComputedColumn[],
  columnsMax: number,
): CommitPlan<object> {
  return planChange(['merge', 'project'], async (table) => {
    const { native } = table;
    const schema = await table.schema();
    checkAdditions(columns, schema, columnsMax);
    const expressions = columns.map(({ expression }) => useExactNames(schema, expression));
    const isConstant = expressions.some((expression) => checkDefinition(expression, schema).size === 0);
    const types = native.query();
    types.select(columns.map(({ name }, index): [string, string] => [name, expressions[index] ?? '']));
    const inferred = await engineCall(async () => types.outputSchema()).catch((error: unknown) => {
      // The definition reads no column, or one that the table lacks.
      const isUnknown = error instanceof ServiceError && error.kind === 'TableColumnNotFound';
      throw isConstant && !isUnknown ? readsNothing() : error;
    });
    if (isConstant) throw readsNothing();
    const file = await toComputedSchema(scratch, inferred, columns);
    return async () => native.addColumnsWithSchema(file);
  });
}

function readsNothing(): ServiceError {
  const hint = 'Add a constant with expression.';
  return invalidInput('A computed column must read at least one column of the table.', hint);
}

/** The types that the engine infers for the expressions, as nullable columns with their definitions. */
async function toComputedSchema(scratch: Scratch, inferred: Buffer, columns: readonly NewComputedColumn[]) {
  const { fields } = readFileSchema(inferred);
  const json = fields.find(({ metadata }) => metadata.has(EXTENSION_NAME_KEY));
  if (json !== undefined) {
    const hint = 'Compute a value from it, for example with json_extract.';
    throw invalidInput(`The column ${quotePath([json.name])} would contain JSON, which cannot be computed.`, hint);
  }
  return scratch.use(inferred, {}, async (table) =>
    engineCall(async () => {
      const strict = fields.filter(({ nullable }) => !nullable);
      const alterations = strict.map(({ name }) => ({ path: formatFieldPath([name]), nullable: true }));
      if (alterations.length > 0) await table.alterColumns(alterations);
      await table.updateFieldMetadata(
        columns.map(({ name, text }) => ({
          path: formatFieldPath([name]),
          metadata: { [COMPUTED_KEY]: text },
          replace: true,
        })),
      );
      return table.schema();
    }),
  );
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

/** The engine cannot write a dictionary without values. */
function toValueSql(column: NewColumn, schema: Schema): string {
  if (column.kind === 'calculated') return useExactNames(schema, column.expression);
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

function checkAdditions(columns: readonly { readonly name: string }[], schema: Schema, columnsMax: number): void {
  const names = new Set(schema.fields.map(({ name }) => name));
  for (const { name } of columns) {
    checkColumnName(name);
    if (names.has(name)) throw columnExists([name]);
    names.add(name);
  }
  const count = countFields(schema.fields) + columns.length;
  if (count > columnsMax) {
    throw invalidInput(
      `The table would have ${formatCount(count)} columns; at most ${formatCount(columnsMax)} are allowed.`,
    );
  }
}

function checkAlterations(alterations: readonly ColumnAlteration[], schema: Schema): void {
  refuseDoubled(alterations.map(({ path }) => path));
  refuseTypesWithRequired(alterations, schema);
  const renamed = new Map<string, string>();
  for (const alteration of alterations) {
    const { path, rename, type, typeJson } = alteration;
    requireOutsideLists(schema, path);
    refuseComputedChange(schema, alteration);
    if (typeJson !== undefined && path.length > 1) {
      throw invalidInput(
        `The type of the nested field ${quotePath(path)} cannot be changed.`,
        'Only the types of top-level columns can be changed.',
      );
    }
    if (type !== undefined) refuseShortened(requireField(schema, path), type);
    if (rename === undefined) continue;
    if (path.length === 1) checkColumnName(rename);
    else if (rename === '') throw new ServiceError('TableSchemaValidationError', 'The new name of a field is empty.');
    renamed.set(formatFieldPath(path), rename);
  }
  for (const { path } of alterations) refuseSameNames(schema, path, renamed);
}

function refuseShortened({ name, type }: Field, wanted: DataType): void {
  if (!isShortened(type, wanted)) return;
  const change = `${describeType(type)}, which cannot become ${describeType(wanted)} without loss`;
  const hint = 'To convert the values all the same, add a column with an expression such as CAST(x AS DATE).';
  throw new ServiceError('TableSchemaValidationError', `The column ${quotePath([name])} has the type ${change}.`, {
    hint,
  });
}

function refuseTypesWithRequired(alterations: readonly ColumnAlteration[], schema: Schema): void {
  if (alterations.every(({ typeJson }) => typeJson === undefined)) return;
  const required = alterations.find(
    ({ path, nullable }) => nullable === false && resolveField(schema, path)?.nullable === true,
  );
  if (required === undefined) return;
  throw invalidInput(
    `The column ${quotePath(required.path)} cannot become non-nullable in the same request in which a type changes.`,
    'Send two requests: first the type, then nullable.',
  );
}

function checkDrops(paths: readonly FieldPath[], schema: Schema): void {
  refuseDoubled(paths);
  const dropped = new Set(paths.map(formatFieldPath));
  for (const path of paths) {
    requireOutsideLists(schema, path);
    const inside = path.findIndex((_, index) => index > 0 && dropped.has(formatFieldPath(pathTo(path, index))));
    if (inside !== -1) {
      throw invalidInput(
        `The field ${quotePath(path)} is part of ${quotePath(pathTo(path, inside))}, which is dropped as well.`,
        'Give only the outer field.',
      );
    }
    const reader = findReaders(schema, path[0]).find((name) => !dropped.has(formatFieldPath([name])));
    if (reader !== undefined) throw isInput(path, reader);
    const siblings = siblingsOf(schema, path);
    if (siblings.every(({ name }) => dropped.has(formatFieldPath(beside(path, name))))) throw nothingLeft(path);
  }
}

/** Refuses a computed column, and an input of computed columns. */
export function refuseTypeChange(schema: Schema, path: FieldPath): void {
  refuseComputedChange(schema, { path, rename: undefined, typeJson: '', nullable: undefined });
}

/** A definition names its inputs and depends on their types; the engine drops it if its column gets another type. */
function refuseComputedChange(
  schema: Schema,
  { path, rename, typeJson, nullable }: Omit<ColumnAlteration, 'type'>,
): void {
  const [reader] = findReaders(schema, path[0]);
  if (reader !== undefined && (rename !== undefined || typeJson !== undefined)) throw isInput(path, reader);
  if (computedText(requireField(schema, [path[0]])) === undefined) return;
  if (typeJson !== undefined || nullable === false) {
    throw invalidInput(
      `The column ${quotePath([path[0]])} is computed: its type cannot change, and it must stay nullable.`,
      'Drop it, and add it again with another definition.',
    );
  }
}

function isInput(path: FieldPath, reader: string): ServiceError {
  return invalidInput(
    `The field ${quotePath(path)} cannot be changed, because the column ${quotePath([reader])} is computed from it.`,
    `Drop ${quotePath([reader])} first, or in the same request.`,
  );
}

/** Compares the names of all siblings after the change. */
function refuseSameNames(schema: Schema, path: FieldPath, renamed: ReadonlyMap<string, string>): void {
  const name = renamed.get(formatFieldPath(path));
  if (name === undefined) return;
  const names = siblingsOf(schema, path).map((field) => {
    return renamed.get(formatFieldPath(beside(path, field.name))) ?? field.name;
  });
  if (names.filter((each) => each === name).length > 1) throw columnExists(beside(path, name));
}

/** Neither the item of a list nor a field inside it can be changed separately. */
function requireOutsideLists(schema: Schema, path: FieldPath): void {
  requireField(schema, path);
  if (!isInsideList(schema, path)) return;
  throw invalidInput(`The field ${quotePath(path)} is inside a list and cannot be changed by itself.`);
}

function siblingsOf(schema: Schema, path: FieldPath): readonly Field[] {
  if (path.length === 1) return schema.fields;
  return childFields(requireField(schema, pathTo(path, path.length - 1)).type);
}

/** The first `length` names of a path; at least one. */
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
    if (seen.has(text)) throw invalidInput(`The field ${quotePath(path)} is given more than once.`);
    seen.add(text);
  }
}

function columnExists(path: FieldPath): ServiceError {
  return invalidInput(`The table already has a field ${quotePath(path)}.`, 'Choose another name.');
}

function nothingLeft(path: FieldPath): ServiceError {
  if (path.length === 1) return invalidInput('The last columns of a table cannot be dropped.');
  const struct = pathTo(path, path.length - 1);
  return invalidInput(`The struct ${quotePath(struct)} would have no fields left.`, 'Drop the struct itself.');
}
