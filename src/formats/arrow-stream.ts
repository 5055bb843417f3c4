import { RecordBatchStreamWriter } from 'apache-arrow';
import type { RecordBatch, Schema } from 'apache-arrow';
import type { RowWriter } from './source.ts';

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
