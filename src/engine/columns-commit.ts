import { formatFieldPath } from '../model/field-path.ts';
import type { FieldPath } from '../model/field-path.ts';
import type { Schema } from '../model/schema.ts';
import type { ColumnAlteration, NewColumn } from './column-changes.ts';
import { checkAdditions, checkAlterations, checkDrops, nullOf } from './column-checks.ts';
import type { CommitPlan, Committed } from './commit-plan.ts';
import { engineCall } from './engine-errors.ts';
import type { NativeAlteration, NativeCommit, NativeTable } from './native.ts';
import { readSchema } from './open-table.ts';
import type { OpenTable } from './open-table.ts';

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

async function changeColumns(table: OpenTable, change: () => Promise<NativeCommit>): Promise<Committed<object>> {
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
