import { RecordBatchStreamWriter, Field, Schema } from 'apache-arrow';
import type { RecordBatch } from 'apache-arrow';
import type { RowWriter } from '../format.ts';
import { buildData } from '../types/build-data.ts';
import { makeBatch } from '../row-batches.ts';
import { parseType } from '../types/type-text.ts';

export const END_OF_STREAM_BYTES = 8;

/** One whole Arrow IPC stream. */
export function toStreamBytes(schema: Schema, batches: readonly RecordBatch[]): Uint8Array {
  const writer = new RecordBatchStreamWriter();
  writer.reset(undefined, schema);
  for (const batch of batches) writer.write(batch);
  return writer.finish().toUint8Array(true);
}

/** A stream, a piece for each batch. */
export function arrowStreamWriter(schema: Schema): RowWriter {
  const head = toStreamBytes(schema, []);
  const end = head.subarray(head.length - END_OF_STREAM_BYTES);
  const headBytes = head.length - END_OF_STREAM_BYTES;
  return {
    begin: () => head.subarray(0, headBytes),
    add(batch) {
      const bytes = toStreamBytes(schema, [batch]);
      return bytes.subarray(headBytes, bytes.length - END_OF_STREAM_BYTES);
    },
    end: () => end,
  };
}

export interface ValueColumn {
  readonly name: string;
  /** Such as `int64`, `float32[128]`. */
  readonly type: string;
  readonly values: readonly unknown[];
}

/** One Arrow stream out of columns of equally many values. */
export function columnsToStream(columns: readonly ValueColumn[]): Uint8Array {
  const typed = columns.map(({ name, type, values }) => ({ name, type: parseType(type), values }));
  const schema = new Schema(typed.map(({ name, type }) => new Field(name, type, true)));
  const data = typed.map(({ type, values }) => buildData(type, values));
  return toStreamBytes(schema, [makeBatch(schema, data, columns[0]?.values.length ?? 0)]);
}
