import { EMPTY_VECTOR, Flatbuffer } from './flatbuffer.ts';
import type { MessageContext, Vector } from './flatbuffer.ts';
import { formatCount } from '../../model/value-text.ts';

/** The union tags of `MessageHeader` in the format's Message.fbs that may occur in a stream of tables. */
export const HEADER_KIND = { schema: 1, dictionaryBatch: 2, recordBatch: 3 } as const;

/** Starts the prefix of a message; before version 0.15 of the format, the prefix was only the length. */
export const CONTINUATION = 0xffffffff;
export const PREFIX_BYTES = 8;

export interface MessageHeader {
  readonly flatbuffer: Flatbuffer;
  readonly kind: number;
  /** The position of the header's table in the flatbuffer. */
  readonly table: number;
  readonly version: number;
  readonly bodyBytes: number;
}

export function readMessageHeader(metadata: Buffer, context: MessageContext): MessageHeader {
  const flatbuffer = new Flatbuffer(metadata, context);
  const root = flatbuffer.rootTable();
  const table = flatbuffer.tableField(root, 2) ?? context.refuse('has no header');
  const bodyBytes = flatbuffer.i64Field(root, 3);
  if (bodyBytes < 0 || bodyBytes % 8 !== 0) {
    context.refuse(`declares a body of ${bodyBytes} bytes`, 'Pad bodies to a multiple of 8 bytes.');
  }
  return { flatbuffer, kind: flatbuffer.u8Field(root, 1), table, version: flatbuffer.i16Field(root, 0), bodyBytes };
}

/** The lists of a record batch, not yet decoded. */
export interface BatchHeader {
  readonly flatbuffer: Flatbuffer;
  readonly rows: number;
  readonly codec: 'none' | 'lz4' | 'zstd';
  readonly bodyBytes: number;
  readonly nodes: Vector;
  readonly buffers: Vector;
  readonly variadicCounts: Vector;
}

/** A field node and a buffer are both two 64-bit numbers. */
export const PAIR_BYTES = 16;

export function readBatchHeader(message: MessageHeader, table: number, rowsMax: number): BatchHeader {
  const { flatbuffer, bodyBytes } = message;
  const rows = flatbuffer.i64Field(table, 0);
  if (rows < 0 || rows > rowsMax) {
    const hint = `A batch can have at most ${formatCount(rowsMax)} rows; send more, smaller batches.`;
    flatbuffer.refuse(`declares ${rows} rows`, hint);
  }
  const nodes = flatbuffer.vectorField(table, 1, PAIR_BYTES);
  const buffers = flatbuffer.vectorField(table, 2, PAIR_BYTES);
  if (nodes === undefined || buffers === undefined) return flatbuffer.refuse('lists no columns or no buffers');
  const variadicCounts = flatbuffer.vectorField(table, 4, 8) ?? EMPTY_VECTOR;
  return { flatbuffer, rows, codec: readCodec(flatbuffer, table), bodyBytes, nodes, buffers, variadicCounts };
}

function readCodec(flatbuffer: Flatbuffer, table: number): BatchHeader['codec'] {
  const compression = flatbuffer.tableField(table, 3);
  if (compression === undefined) return 'none';
  if (flatbuffer.u8Field(compression, 1) !== 0) flatbuffer.refuse('uses an unknown compression method');
  const codec = flatbuffer.u8Field(compression, 0);
  if (codec === 0) return 'lz4';
  if (codec === 1) return 'zstd';
  return flatbuffer.refuse(`uses the unknown compression ${codec}`, 'Use LZ4 frames or ZSTD.');
}
