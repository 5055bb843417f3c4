import type { DataType, IntType } from '../../model/schema.ts';

/** Bytes of one value; `undefined` for bits, and for variable-width types. */
export function findFixedWidth(type: DataType): number | undefined {
  switch (type.kind) {
    case 'int':
    case 'float':
    case 'decimal':
    case 'time':
      return type.bits / 8;
    case 'date':
      return type.unit === 'day' ? 4 : 8;
    case 'timestamp':
    case 'duration':
      return 8;
    case 'fixed-size-binary':
      return type.bytes;
    default:
      return undefined;
  }
}

export function requireFixedWidth(type: DataType): number {
  const bytes = findFixedWidth(type);
  if (bytes === undefined) throw new TypeError(`values of the type ${type.kind} have no fixed width`);
  return bytes;
}

export function readInteger(values: Buffer, row: number, { bits, signed }: Omit<IntType, 'kind'>): number | bigint {
  const bytes = bits / 8;
  const at = bytes * row;
  if (bits === 64) return signed ? values.readBigInt64LE(at) : values.readBigUInt64LE(at);
  return signed ? values.readIntLE(at, bytes) : values.readUIntLE(at, bytes);
}

/** Bytes of one offset in a variable-length column. */
export type OffsetBytes = 4 | 8;

export function offsetBytes({ layout }: { readonly layout: string }): OffsetBytes {
  return layout === 'large' ? 8 : 4;
}

export function readOffset(offsets: Buffer, index: number, bytes: OffsetBytes): number {
  return bytes === 4 ? offsets.readInt32LE(4 * index) : Number(offsets.readBigInt64LE(8 * index));
}

export function hasBit(bitmap: Uint8Array, index: number): boolean {
  return (((bitmap[index >> 3] ?? 0) >> (index & 7)) & 1) === 1;
}

/** A view is a length, followed by either the text itself (up to 12 bytes) or a prefix and the position of the text. */
export const VIEW_BYTES = 16;

/** The total size of all texts that the views of a column refer to. */
export function viewedBytes(views: Buffer): number {
  let bytes = 0;
  for (let at = 0; at + VIEW_BYTES <= views.length; at += VIEW_BYTES) bytes += views.readUInt32LE(at);
  return bytes;
}
