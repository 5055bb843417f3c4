import type { RecordBatch, Schema } from 'apache-arrow';
import { isLosslessNumber } from 'lossless-json';
import { arrowStreamWriter } from './arrow/arrow-stream.ts';
import type { Format, RowWriter } from './format.ts';
import { formatExactJson } from './json/exact-json.ts';
import { parquetWriter } from './parquet/parquet-writer.ts';
import { plainRows } from './types/values-of.ts';
import type { PlainRow } from './types/values-of.ts';

export interface WriteOptions {
  /** Of CSV; a comma when absent. */
  readonly delimiter?: string | undefined;
}

/** The bytes of a file with these rows, as they are written. */
export async function* writeRows(
  format: Format,
  schema: Schema,
  batches: AsyncIterable<RecordBatch> | Iterable<RecordBatch>,
  options: WriteOptions = {},
): AsyncGenerator<Uint8Array> {
  const writer = writerFor(format, schema, options);
  yield* nonEmpty(writer.begin());
  for await (const batch of batches) yield* nonEmpty(writer.add(batch));
  yield* nonEmpty(writer.end());
}

function* nonEmpty(bytes: Uint8Array): Generator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
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
      return lineWriter('', (row) => formatExactJson(Object.fromEntries(row)));
  }
}

/** RFC 4180 with a header. Null is an empty cell, an empty text a pair of quotes; lists and structs are JSON. */
function csvWriter(schema: Schema, delimiter = ','): RowWriter {
  const needsQuotes = new RegExp(`[${delimiter === '|' ? '\\|' : delimiter}"\\r\\n]|^\\s|\\s$|^\uFEFF`);
  const quote = (text: string): string =>
    text === '' || needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const cell = (value: unknown): string => {
    if (value === null || value === undefined) return '';
    if (typeof value === 'string') return quote(value);
    const text = formatExactJson(value);
    return typeof value === 'object' && !isLosslessNumber(value) ? quote(text) : text;
  };
  const header = schema.fields.map(({ name }) => quote(name)).join(delimiter);
  return lineWriter(`${header}\n`, (row) => row.map(([, value]) => cell(value)).join(delimiter));
}

const encoder = new TextEncoder();

function lineWriter(header: string, format: (row: PlainRow) => string): RowWriter {
  return {
    begin: () => encoder.encode(header),
    add: (batch) => encoder.encode([...plainRows(batch)].map((row) => `${format(row)}\n`).join('')),
    end: () => new Uint8Array(),
  };
}
