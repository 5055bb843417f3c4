import { Field, Schema } from 'apache-arrow';
import { LosslessNumber } from 'lossless-json';
import type { ApiClient } from '../../../../../src/client/api-client.ts';
import { cellOf, openQuery } from '../../../../../src/client/rows.ts';
import type { JsonRow, JsonValue } from '../../../../../src/client/rows.ts';
import { readStream } from '../../../../../src/formats/arrow/arrow-source.ts';
import { toStreamBytes } from '../../../../../src/formats/arrow/arrow-stream.ts';
import { makeBatch } from '../../../../../src/formats/row-batches.ts';
import { buildData } from '../../../../../src/formats/types/build-data.ts';
import { ConversionError, converterFor } from '../../../../../src/formats/types/convert-value.ts';
import { valuesOf } from '../../../../../src/formats/types/values-of.ts';
import { formatFieldPath } from '../../../../../src/model/field-path.ts';
import type { TablePath } from '../../../../../src/model/identifier.ts';
import type { QueryTableBody } from '../../../../../src/wire/data.ts';
import { ValueFault } from './edit-value.ts';

/** Rows with their exact values, in the forms that `buildData` takes; by row id. */
export interface ArrowRows {
  readonly schema: Schema;
  readonly rows: ReadonlyMap<string, readonly unknown[]>;
}

const ROW_ID = '_rowid';

/** Reads the columns `names` of the rows. */
export async function readArrowRows(
  client: ApiClient,
  table: TablePath,
  names: readonly string[],
  query: QueryTableBody,
): Promise<ArrowRows> {
  const columns = { column_names: names.map((name) => formatFieldPath([name])) };
  const response = await openQuery(client, table, { ...query, columns, with_row_id: true });
  const { schema, batches } = await readStream(client.bytes(response));
  const places = names.map((name) => schema.fields.findIndex((field) => field.name === name));
  const idPlace = schema.fields.findIndex(({ name }) => name === ROW_ID);
  const rows = new Map<string, readonly unknown[]>();
  for await (const batch of batches) {
    const values = batch.data.children.map((data) => valuesOf(data));
    for (let row = 0; row < batch.numRows; row += 1) {
      rows.set(
        String(values[idPlace]?.[row]),
        places.map((place) => values[place]?.[row] ?? null),
      );
    }
  }
  const fields = places.flatMap((place) => schema.fields[place] ?? []);
  return { schema: new Schema(fields.map(withoutMetadata)), rows };
}

/** Keeps only metadata that determines the type of the values: the table has the rest. */
function withoutMetadata({ name, type, nullable, metadata }: Field): Field {
  const kept = [...metadata].filter(([key]) => key.startsWith('ARROW:extension:'));
  return new Field(name, type, nullable, new Map(kept));
}

/** Throws a `ValueFault` that says what would fit. */
export function convertValue({ schema }: Pick<ArrowRows, 'schema'>, column: string, value: JsonValue): unknown {
  const field = schema.fields.find(({ name }) => name === column);
  if (field === undefined) throw new ValueFault(`${column} is computed by the server.`);
  if (value === null) {
    if (field.nullable) return null;
    throw new ValueFault(`${column} must not be null.`);
  }
  try {
    return converterFor(field.type)(toExact(value));
  } catch (error) {
    if (error instanceof ConversionError) throw new ValueFault(`The value of ${column} ${error.message}.`);
    throw error;
  }
}

/** The form that file readers pass to the converters. */
function toExact(value: JsonValue): unknown {
  if (typeof value === 'bigint') return new LosslessNumber(String(value));
  if (Array.isArray(value)) return value.map((each: JsonValue) => toExact(each));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, toExact(each)]));
}

/** A row of entered values; columns without a value are null. */
export function toArrowRow(format: Pick<ArrowRows, 'schema'>, values: JsonRow): readonly unknown[] {
  return format.schema.fields.map(({ name }) => convertValue(format, name, cellOf(values, name) ?? null));
}

/** Replaces values of a row. */
export function withValues(format: ArrowRows, row: readonly unknown[], values: JsonRow): readonly unknown[] {
  return format.schema.fields.map(({ name }, index) => {
    const value = cellOf(values, name);
    return value === undefined ? row[index] : convertValue(format, name, value);
  });
}

export function toArrowStream(schema: Schema, rows: readonly (readonly unknown[])[]): Uint8Array {
  const columnOf = (index: number): unknown[] => rows.map((row) => row[index] ?? null);
  const children = schema.fields.map(({ type }, index) => buildData(type, columnOf(index)));
  return toStreamBytes(schema, [makeBatch(schema, children, rows.length)]);
}
