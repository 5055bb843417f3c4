import type { Schema } from 'apache-arrow';
import { isLosslessNumber } from 'lossless-json';
import { writeArrow } from './arrow/arrow-stream.ts';
import type { Batches, Format } from './format.ts';
import { formatExactJson } from './json/exact-json.ts';
import { writeParquet } from './parquet/parquet-writer.ts';
import { plainRows } from './types/values-of.ts';
import type { PlainRow } from './types/values-of.ts';

interface WriteOptions {
  /** For CSV; a comma if absent. */
  readonly delimiter?: string | undefined;
}

/** The bytes of a file with these rows, as they are written. */
export function writeRows(
  format: Format,
  schema: Schema,
  batches: Batches,
  { delimiter }: WriteOptions = {},
): AsyncGenerator<Uint8Array> {
  return WRITERS[format](schema, batches, delimiter);
}

type Write = (schema: Schema, batches: Batches, delimiter?: string) => AsyncGenerator<Uint8Array>;
const WRITERS: Readonly<Record<Format, Write>> = {
  arrow: writeArrow,
  parquet: writeParquet,
  csv: writeCsv,
  ndjson: (_schema, batches) => writeLines(batches, (row) => formatExactJson(Object.fromEntries(row))),
};

/** RFC 4180 with a header. Null is an empty cell, an empty text a pair of quotes; lists and structs are JSON. */
async function* writeCsv(schema: Schema, batches: Batches, delimiter = ','): AsyncGenerator<Uint8Array> {
  const needsQuotes = new RegExp(`[${delimiter.replaceAll(/[\]\\^-]/g, '\\$&')}"\\r\\n]|^\\s|\\s$|^\uFEFF`);
  const quote = (text: string): string =>
    text === '' || needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const cell = (value: unknown): string => {
    if (value === null || value === undefined) return '';
    if (typeof value === 'string') return quote(value);
    const text = formatExactJson(value);
    return typeof value === 'object' && !isLosslessNumber(value) ? quote(text) : text;
  };
  yield encoder.encode(`${schema.fields.map(({ name }) => quote(name)).join(delimiter)}\n`);
  yield* writeLines(batches, (row) => row.map(([, value]) => cell(value)).join(delimiter));
}

const encoder = new TextEncoder();

async function* writeLines(batches: Batches, format: (row: PlainRow) => string): AsyncGenerator<Uint8Array> {
  for await (const batch of batches) {
    if (batch.numRows > 0)
      yield encoder.encode(
        plainRows(batch)
          .map((row) => `${format(row)}\n`)
          .join(''),
      );
  }
}
