import { Field, RecordBatchStreamWriter, Schema } from 'apache-arrow';
import type { RecordBatch } from 'apache-arrow';
import type { Batches } from '../format.ts';
import { makeBatch } from '../row-batches.ts';
import { buildData } from '../types/build-data.ts';
import { parseType } from '../types/type-text.ts';
import { END_OF_STREAM } from './arrow-messages.ts';

export function toStreamBytes(schema: Schema, batches: readonly RecordBatch[]): Uint8Array {
  const writer = new RecordBatchStreamWriter();
  writer.reset(undefined, schema);
  for (const batch of batches) writer.write(batch);
  return writer.finish().toUint8Array(true);
}

/** The message of the schema, which starts a stream. */
export function toSchemaBytes(schema: Schema): Uint8Array {
  return toStreamBytes(schema, []).subarray(0, -END_OF_STREAM.length);
}

export async function* writeArrow(schema: Schema, batches: Batches): AsyncGenerator<Uint8Array> {
  const head = toSchemaBytes(schema);
  yield head;
  for await (const batch of batches) {
    yield toStreamBytes(schema, [batch]).subarray(head.length, -END_OF_STREAM.length);
  }
  yield END_OF_STREAM;
}

/** One Arrow stream out of columns of equally many values. */
export function columnsToStream(
  columns: readonly { readonly name: string; readonly type: string; readonly values: readonly unknown[] }[],
): Uint8Array {
  const schema = new Schema(columns.map(({ name, type }) => new Field(name, parseType(type), true)));
  const data = schema.fields.map(({ type }, index) => buildData(type, columns[index]?.values ?? []));
  return toStreamBytes(schema, [makeBatch(schema, data, columns[0]?.values.length ?? 0)]);
}
