import { fixedWidthBytes } from './fixed-width.ts';
import { isValid } from './result-columns.ts';
import type { ResultColumn } from './result-columns.ts';

/** The values of a dictionary as bytes; `undefined` for null. */
export function readValues(column: ResultColumn): readonly (Buffer | undefined)[] {
  const read = valueReader(column);
  return Array.from({ length: column.length }, (_unused, row) => (isValid(column, row) ? read(row) : undefined));
}

/** The buffers of a column of these values, of the same type as `column`: validity first. */
export function writeValues(column: ResultColumn, values: readonly (Buffer | undefined)[]): readonly Buffer[] {
  const validity = Buffer.alloc(values.includes(undefined) ? Math.ceil(values.length / 8) : 0);
  for (const [row, value] of values.entries()) {
    if (value !== undefined && validity.length > 0) validity[row >> 3] = (validity[row >> 3] ?? 0) | (1 << (row & 7));
  }
  const width = offsetWidth(column);
  if (width === undefined) {
    const empty = Buffer.alloc(fixedWidthBytes(column.type));
    return [validity, Buffer.concat(values.map((value) => value ?? empty))];
  }
  return [validity, writeOffsets(values, width), Buffer.concat(values.map((value) => value ?? Buffer.alloc(0)))];
}

function valueReader(column: ResultColumn): (row: number) => Buffer {
  const [first = Buffer.alloc(0), data = Buffer.alloc(0)] = column.buffers;
  const width = offsetWidth(column);
  if (width !== undefined)
    return (row) => data.subarray(readOffset(first, row, width), readOffset(first, row + 1, width));
  const bytes = fixedWidthBytes(column.type);
  return (row) => first.subarray(bytes * row, bytes * (row + 1));
}

function offsetWidth({ type }: ResultColumn): 4 | 8 | undefined {
  if (type.kind !== 'utf8' && type.kind !== 'binary') return undefined;
  return type.layout === 'large' ? 8 : 4;
}

export function readOffset(offsets: Buffer, index: number, width: 4 | 8): number {
  return width === 4 ? offsets.readInt32LE(4 * index) : Number(offsets.readBigInt64LE(8 * index));
}

function writeOffsets(values: readonly (Buffer | undefined)[], width: 4 | 8): Buffer {
  const offsets = Buffer.alloc(width * (values.length + 1));
  let end = 0;
  for (const [row, value] of values.entries()) {
    end += value?.length ?? 0;
    if (width === 4) offsets.writeInt32LE(end, 4 * (row + 1));
    else offsets.writeBigInt64LE(BigInt(end), 8 * (row + 1));
  }
  return offsets;
}
