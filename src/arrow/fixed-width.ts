import type { DataType } from '../model/schema.ts';

/** Bytes of one value of a type whose values are all of one width. */
export function fixedWidthBytes(type: DataType): number {
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
      throw new TypeError(`values of the type ${type.kind} have no fixed width`);
  }
}
