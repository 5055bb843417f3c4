import type { BatchBuffers, BodyBuffer } from './batch-buffers.ts';
import { jsonTextFault } from './json-text.ts';

export interface JsonColumn {
  readonly rows: number;
  readonly offsetWidth: 4 | 8;
  readonly offsets: BodyBuffer;
  readonly data: BodyBuffer;
}

/** Why the texts of a JSON column cannot be handed to the engine, or `undefined`. */
export function jsonColumnFault(buffers: BatchBuffers, column: JsonColumn): string | undefined {
  if (column.rows === 0) return undefined;
  const offsets = buffers.content(column.offsets, column.offsetWidth * (column.rows + 1));
  const data = buffers.content(column.data, column.data.decodedBytes);
  if (offsets === undefined || data === undefined) {
    return 'is JSON text in ZSTD, whose nesting cannot be checked; send it in LZ4 or without compression';
  }
  let start = readOffset(offsets, 0, column.offsetWidth);
  for (let row = 0; row < column.rows; row += 1) {
    const end = readOffset(offsets, row + 1, column.offsetWidth);
    if (start < 0 || end < start || end > data.length)
      return `has offsets in row ${row} that do not ascend inside its data`;
    const fault = jsonTextFault(data.subarray(start, end));
    if (fault !== undefined) return `in row ${row} ${fault}`;
    start = end;
  }
  return undefined;
}

function readOffset(offsets: Buffer, index: number, width: 4 | 8): number {
  return width === 4 ? offsets.readInt32LE(4 * index) : Number(offsets.readBigInt64LE(8 * index));
}
