import type { RecordBatch, Schema } from 'apache-arrow';
import { arrowStreamWriter } from './arrow/arrow-stream.ts';
import type { Format, RowWriter } from './format.ts';
import { parquetWriter } from './parquet/parquet-writer.ts';
import { plainValue } from './types/plain-value.ts';
import { toJsonText, LosslessNumber } from './json/exact-json.ts';
import { valuesOf } from './types/values-of.ts';

export interface WriteOptions {
  /** Of CSV; a comma when absent. */
  readonly delimiter?: string | undefined;
}

export function writerFor(format: Format, schema: Schema, { delimiter }: WriteOptions = {}): RowWriter {
  switch (format) {
    case 'arrow':
      return arrowStreamWriter(schema);
    case 'parquet':
      return parquetWriter(schema);
    case 'csv':
      return csvWriter(schema, delimiter);
    case 'ndjson':
      return ndjsonWriter();
  }
}

/** The bytes of a file with these rows, as they are made. */
export async function* writeRows(
  format: Format,
  schema: Schema,
  batches: AsyncIterable<RecordBatch> | Iterable<RecordBatch>,
  options: WriteOptions = {},
): AsyncGenerator<Uint8Array> {
  const writer = writerFor(format, schema, options);
  yield* some(writer.begin());
  for await (const batch of batches) yield* some(writer.add(batch));
  yield* some(writer.end());
}

function* some(bytes: Uint8Array): Generator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}

const encoder = new TextEncoder();
const NOTHING = new Uint8Array();

/** In the words of the server's own NDJSON. */
export function ndjsonWriter(): RowWriter {
  return {
    begin: () => NOTHING,
    add: (batch) =>
      encoder.encode(
        rowsOf(batch)
          .map((row) => `${toJsonText(Object.fromEntries(row))}\n`)
          .join(''),
      ),
    end: () => NOTHING,
  };
}

/** RFC 4180 with a header. Null is an empty cell, an empty text a pair of quotes; lists and structs are JSON. */
export function csvWriter(schema: Schema, delimiter = ','): RowWriter {
  const needsQuotes = new RegExp(`[${delimiter === '|' ? '\\|' : delimiter}"\\r\\n]|^\\s|\\s$|^\uFEFF`);
  const quote = (text: string): string =>
    text === '' || needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const cell = (value: unknown): string => {
    if (value === null || value === undefined) return '';
    if (typeof value === 'string') return quote(value);
    if (value instanceof LosslessNumber) return value.text;
    return typeof value === 'object' ? quote(toJsonText(value)) : toJsonText(value);
  };
  return {
    begin: () => encoder.encode(`${schema.fields.map(({ name }) => quote(name)).join(delimiter)}\n`),
    add: (batch) =>
      encoder.encode(
        rowsOf(batch)
          .map((row) => `${row.map(([, value]) => cell(value)).join(delimiter)}\n`)
          .join(''),
      ),
    end: () => NOTHING,
  };
}

function rowsOf(batch: RecordBatch): readonly (readonly (readonly [string, unknown])[])[] {
  const { fields } = batch.schema;
  const columns = batch.data.children.map((data) => valuesOf(data));
  return Array.from({ length: batch.numRows }, (_, row) =>
    fields.map(({ name, type }, index) => [name, plainValue(columns[index]?.[row], type)] as const),
  );
}
