import { formatFieldPath } from '../model/field-path.ts';
import type { FieldPath } from '../model/field-path.ts';
import type { Schema } from '../model/schema.ts';
import type { ColumnAlteration, NewColumn } from './column-changes.ts';
import { checkAdditions, checkAlterations, checkDrops, nullOf } from './column-checks.ts';
import { engineCall } from './engine-errors.ts';
import type { NativeAlteration, NativeCommit, NativeTable } from './native.ts';
import { readSchema } from './open-table.ts';
import type { OpenTable } from './open-table.ts';
import type { EngineParts } from './parts.ts';
import { writeInLane } from './table-writes.ts';
import type { WriteTarget } from './table-writes.ts';

export interface ColumnsCommit {
  readonly version: number;
}

/** Columns of tables. Each call does all that it was asked, or nothing. */
export interface ColumnsEngine {
  add(target: WriteTarget, columns: readonly NewColumn[], columnsMax: number): Promise<ColumnsCommit>;
  alter(target: WriteTarget, alterations: readonly ColumnAlteration[]): Promise<ColumnsCommit>;
  drop(target: WriteTarget, paths: readonly FieldPath[]): Promise<ColumnsCommit>;
}

export function createColumnsEngine(parts: EngineParts): ColumnsEngine {
  return {
    add: async (target, columns, columnsMax) =>
      writeInLane(parts, target, async (table) => {
        checkAdditions(columns, await table.schema(), columnsMax);
        return addColumns(table, columns);
      }),
    alter: async (target, alterations) =>
      writeInLane(parts, target, async (table) => {
        checkAlterations(alterations, await table.schema());
        return changeColumns(table, async ({ native }) => native.alterColumns(alterations.map(toNativeAlteration)));
      }),
    drop: async (target, paths) =>
      writeInLane(parts, target, async (table) => {
        checkDrops(paths, await table.schema());
        return changeColumns(table, async ({ native }) => native.dropColumns(paths.map(formatFieldPath)));
      }),
  };
}

async function changeColumns(
  table: OpenTable,
  change: (table: OpenTable) => Promise<NativeCommit>,
): Promise<ColumnsCommit> {
  const { version } = await engineCall(async () => change(table));
  table.forget();
  return { version };
}

async function addColumns(table: OpenTable, columns: readonly NewColumn[]): Promise<ColumnsCommit> {
  const additions = columns.map((column) => ({ name: column.name, valueSql: toValueSql(column) }));
  const added = await changeColumns(table, async ({ native }) => native.addColumns(additions));
  return (await allowNulls(table.native, columns)) ?? added;
}

/**
 * A column of constants comes out as one that may not be null, and rows without it would be refused from then on. The
 * column is there already, so a failure here is none of the caller's.
 */
async function allowNulls(native: NativeTable, columns: readonly NewColumn[]): Promise<ColumnsCommit | undefined> {
  try {
    const schema = await readSchema(native);
    const strict = columns.filter(({ name }) => isStrict(schema, name));
    if (strict.length === 0) return undefined;
    return await native.alterColumns(strict.map(({ name }) => ({ path: formatFieldPath([name]), nullable: true })));
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
