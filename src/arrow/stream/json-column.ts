import { hasBit, readOffset } from '../format/column-layout.ts';
import type { OffsetBytes } from '../format/column-layout.ts';
import type { BatchBuffers, BodyBuffer } from './batch-buffers.ts';
import { jsonTextFault } from '../format/json-text.ts';

export interface JsonColumn {
  readonly rows: number;
  readonly offsetBytes: OffsetBytes;
  /** `undefined` when no row is null. */
  readonly validity: Buffer | undefined;
  readonly offsets: BodyBuffer;
  readonly data: BodyBuffer;
}

/** Why the texts of a JSON column cannot be handed to the engine, or `undefined`. */
export function jsonColumnFault(buffers: BatchBuffers, column: JsonColumn): string | undefined {
  const { rows, offsetBytes } = column;
  if (rows === 0) return undefined;
  const offsets = buffers.content(column.offsets, offsetBytes * (rows + 1));
  const data = buffers.content(column.data, column.data.decodedBytes);
  if (offsets === undefined || data === undefined) {
    return 'is JSON text compressed with ZSTD, which cannot be checked; use LZ4 or no compression';
  }
  let start = readOffset(offsets, 0, offsetBytes);
  for (let row = 0; row < rows; row += 1) {
    const end = readOffset(offsets, row + 1, offsetBytes);
    if (start < 0 || end < start || end > data.length) {
      return `has offsets in row ${row} that do not increase or point outside its data`;
    }
    const isNull = column.validity !== undefined && !hasBit(column.validity, row);
    const fault = isNull ? undefined : jsonTextFault(data.subarray(start, end));
    if (fault !== undefined) return `in row ${row} ${fault}`;
    start = end;
  }
  return undefined;
}
