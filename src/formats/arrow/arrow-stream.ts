import { DataType, Field, RecordBatchStreamWriter, Schema, Uint8, makeData } from 'apache-arrow';
import type { Data, RecordBatch } from 'apache-arrow';
import type { Batches } from '../format.ts';
import { makeBatch } from '../row-batches.ts';
import { buildData } from '../types/build-data.ts';
import { parseType } from '../types/type-text.ts';
import { END_OF_STREAM } from './arrow-messages.ts';

export function toStreamBytes(schema: Schema, batches: readonly RecordBatch[]): Uint8Array {
  const writer = new RecordBatchStreamWriter();
  writer.reset(undefined, schema);
  for (const batch of batches) writer.write(withBoolValues(batch));
  return writer.finish().toUint8Array(true);
}

/**
 * The package writes no values for booleans that are all null, and readers that check buffer lengths refuse that. As
 * bytes, the values have at least as many bytes as their bits need; the type is that of the schema.
 */
function withBoolValues(batch: RecordBatch): RecordBatch {
  const { children, length } = batch.data;
  if (!children.some(hasNullBools)) return batch;
  return makeBatch(batch.schema, children.map(toWritable), length);
}

function hasNullBools(data: Data): boolean {
  return isNullBools(data) || data.children.some(hasNullBools);
}

function isNullBools({ type, length, nullCount }: Data): boolean {
  return DataType.isBool(type) && length > 0 && nullCount >= length;
}

function toWritable(data: Data): Data {
  const { length, nullCount } = data;
  if (isNullBools(data)) {
    const nullBitmap = new Uint8Array(Math.ceil(length / 64) * 8);
    return makeData({ type: new Uint8(), length, nullCount, nullBitmap, data: new Uint8Array(length) });
  }
  if (!hasNullBools(data)) return data;
  return data.clone(data.type, data.offset, length, nullCount, data.buffers, data.children.map(toWritable));
}

/** The schema message, which starts a stream. */
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

/** One Arrow stream from columns with the same number of values. */
export function columnsToStream(
  columns: readonly { readonly name: string; readonly type: string; readonly values: readonly unknown[] }[],
): Uint8Array {
  const schema = new Schema(columns.map(({ name, type }) => new Field(name, parseType(type), true)));
  const data = schema.fields.map(({ type }, index) => buildData(type, columns[index]?.values ?? []));
  return toStreamBytes(schema, [makeBatch(schema, data, columns[0]?.values.length ?? 0)]);
}
