import { Flatbuffer } from './flatbuffer.ts';
import type { MessageContext, Vector } from './flatbuffer.ts';

/** The union tags of `MessageHeader` in the format's Message.fbs that a stream of tables may hold. */
export const HEADER_KIND = { schema: 1, dictionaryBatch: 2, recordBatch: 3 } as const;

/** What a message says of itself. `table` is where its header stands in the flatbuffer. */
export interface MessageHeader {
  readonly flatbuffer: Flatbuffer;
  readonly kind: number;
  readonly table: number;
  readonly version: number;
  readonly bodyBytes: number;
}

export function readMessageHeader(metadata: Buffer, place: MessageContext): MessageHeader {
  const flatbuffer = new Flatbuffer(metadata, place);
  const root = flatbuffer.rootTable();
  const table = flatbuffer.tableField(root, 2);
  if (table === undefined) return place.refuse('has no header');
  const bodyBytes = flatbuffer.i64Field(root, 3, 0);
  if (bodyBytes < 0 || bodyBytes % 8 !== 0) {
    place.refuse(`declares a body of ${bodyBytes} bytes`, 'Bodies are padded to a multiple of 8 bytes.');
  }
  const kind = flatbuffer.u8Field(root, 1, 0);
  return { flatbuffer, kind, table, version: flatbuffer.i16Field(root, 0, 0), bodyBytes };
}

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
