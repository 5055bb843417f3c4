import { readFileSchema } from '../../arrow/schema/schema-reader.ts';
import { needsStorageVersion22 } from '../../arrow/schema/schema-rules.ts';
import { arrowFile, frameWhole } from '../../arrow/results/result-framing.ts';
import { sqlFieldReference } from '../../model/field-path.ts';
import type { Schema } from '../../model/schema.ts';
import { addRows } from '../commits/schema-fit.ts';
import { engineCall, storeRows } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';
import type { EngineParts } from '../parts.ts';
import type { OpenTable } from '../tables/table-handle.ts';
import { toTypedValue } from '../updates/assignments.ts';
import type { ComputedColumn } from './definitions.ts';

/** Rows to be written to a table, as one Arrow file. */
export interface IncomingRows {
  readonly schema: Schema;
  readonly file: Buffer;
}

/**
 * Adds computed columns to the rows, in the order of the table's columns. The rows pass through an in-memory table with
 * the schema of the real one, so omitted inputs are null, and values are converted exactly as when they are stored.
 */
export async function addComputed(
  { scratch }: Pick<EngineParts, 'scratch'>,
  table: OpenTable,
  { schema, file }: IncomingRows,
  columns: readonly ComputedColumn[],
): Promise<IncomingRows> {
  const given = new Set(schema.fields.map(({ name }) => name));
  const computed = new Map(columns.map((column) => [column.field.name, column]));
  const tableSchema = await table.schema();
  const projection = tableSchema.fields.flatMap(({ name }): [string, string][] => {
    const column = computed.get(name);
    if (column !== undefined) return [[name, toTypedValue(column.expression, column.field, [name])]];
    return given.has(name) ? [[name, sqlFieldReference([name])]] : [];
  });
  const schemaFile = await engineCall(async () => table.native.schema());
  const options = needsStorageVersion22(tableSchema) ? { new_table_data_storage_version: '2.2' } : {};
  const result = await scratch.use(schemaFile, options, async (rows) => {
    await storeRows(async () => addRows(rows, file, tableSchema));
    return project(rows, projection);
  });
  return { schema: readFileSchema(result), file: result };
}

const BATCH_ROWS = 8192;

async function project(rows: NativeTable, columns: [string, string][]): Promise<Buffer> {
  const build = () => {
    const query = rows.query();
    query.select(columns);
    return query;
  };
  return engineCall(async () => {
    const batches = await build().execute(BATCH_ROWS, null);
    const files: Buffer[] = [];
    for (let next = await batches.next(); next !== null; next = await batches.next()) files.push(next);
    const head = files[0] ?? (await build().outputSchema());
    return frameWhole(arrowFile(), head, files);
  });
}
