import type { RecordBatch, Schema } from 'apache-arrow';
import { arrowStreamWriter } from './arrow-stream.ts';
import type { Format } from './format.ts';
import { parquetWriter } from './parquet-writer.ts';
import { csvWriter, ndjsonWriter } from './row-writer.ts';
import type { RowWriter } from './source.ts';

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
