import { Field, Schema } from 'apache-arrow';
import { toStreamBytes } from './arrow-stream.ts';
import { buildData } from './build-data.ts';
import { makeBatch } from './row-batches.ts';
import { parseType } from './type-text.ts';

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
