import type { Flatbuffer, Vector } from './flatbuffer.ts';
import type { MessageHeader } from './message-header.ts';

export type Codec = 'none' | 'lz4' | 'zstd';

/** The lists of a record batch, still in place: lengths of columns, places of buffers, counts of view buffers. */
export interface BatchHeader {
  readonly flatbuffer: Flatbuffer;
  readonly rows: number;
  readonly codec: Codec;
  readonly bodyBytes: number;
  readonly nodes: Vector;
  readonly buffers: Vector;
  readonly variadicCounts: Vector;
}

/** A field node and a buffer are both two 64-bit numbers. */
export const PAIR_BYTES = 16;

export function readBatchHeader(message: MessageHeader, table: number, rowsMax: number): BatchHeader {
  const { flatbuffer, bodyBytes } = message;
  const { place } = flatbuffer;
  const rows = flatbuffer.i64Field(table, 0, 0);
  if (rows < 0 || rows > rowsMax) {
    place.refuse(`declares ${rows} rows`, `At most ${rowsMax} rows fit in one batch; send more and smaller batches.`);
  }
  const nodes = flatbuffer.vectorField(table, 1, PAIR_BYTES);
  const buffers = flatbuffer.vectorField(table, 2, PAIR_BYTES);
  if (nodes === undefined || buffers === undefined) return place.refuse('lists no columns or no buffers');
  const variadicCounts = flatbuffer.vectorField(table, 4, 8) ?? { start: 0, count: 0 };
  return { flatbuffer, rows, codec: readCodec(flatbuffer, table), bodyBytes, nodes, buffers, variadicCounts };
}

function readCodec(flatbuffer: Flatbuffer, table: number): Codec {
  const compression = flatbuffer.tableField(table, 3);
  if (compression === undefined) return 'none';
  if (flatbuffer.u8Field(compression, 1, 0) !== 0) flatbuffer.place.refuse('uses an unknown method of compression');
  const codec = flatbuffer.u8Field(compression, 0, 0);
  if (codec === 0) return 'lz4';
  if (codec === 1) return 'zstd';
  return flatbuffer.place.refuse(`uses the unknown compression ${codec}`, 'LZ4 frames and ZSTD are read.');
}
