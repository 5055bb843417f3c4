import { DataType, Precision, util } from 'apache-arrow';
import type { Data } from 'apache-arrow';

/** The values of Arrow data, in the forms that `buildData` takes. */
export function valuesOf(data: Data): unknown[] {
  const values = readAll(data);
  if (data.nullCount > 0 && !DataType.isNull(data.type)) {
    for (let index = 0; index < values.length; index += 1) if (!isValid(data, index)) values[index] = null;
  }
  return values;
}

function readAll(data: Data): unknown[] {
  const { type, length } = data;
  if (DataType.isNull(type)) return fill(length, () => null);
  if (DataType.isBool(type)) return fill(length, (index) => hasBit(data.values, data.offset + index));
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return slices(data, (bytes) => decoder.decode(bytes));
  if (DataType.isBinary(type) || DataType.isLargeBinary(type)) return slices(data, (bytes) => bytes.slice());
  if (DataType.isFixedSizeBinary(type)) {
    return fill(length, (index) => toBytes(data.values).slice(index * type.byteWidth, (index + 1) * type.byteWidth));
  }
  if (DataType.isDecimal(type)) return fill(length, (index) => decimalAt(data, index, type.bitWidth));
  if (DataType.isDictionary(type)) {
    const dictionary: readonly Data[] = data.dictionary?.data ?? [];
    const values = dictionary.flatMap((chunk) => valuesOf(chunk));
    return Array.from(numbersIn(data), (index) => values[Number(index)] ?? null);
  }
  if (DataType.isStruct(type)) {
    const columns = type.children.map(({ name }, index) => [name, itemsOf(data, index)] as const);
    return fill(length, (index) => Object.fromEntries(columns.map(([name, values]) => [name, values[index]])));
  }
  if (DataType.isFixedSizeList(type)) {
    const items = itemsOf(data, 0);
    return fill(length, (index) => items.slice(index * type.listSize, (index + 1) * type.listSize));
  }
  if (DataType.isList(type) || DataType.isMap(type)) {
    const items = itemsOf(data, 0);
    const offsets = offsetsOf(data);
    return fill(length, (index) => items.slice(Number(offsets[index]), Number(offsets[index + 1])));
  }
  if (DataType.isFloat(type) && type.precision === Precision.HALF) {
    return Array.from(numbersIn(data), (value) => util.uint16ToFloat64(Number(value)));
  }
  return Array.from(numbersIn(data));
}

const decoder = new TextDecoder();

function fill(length: number, read: (index: number) => unknown): unknown[] {
  return Array.from({ length }, (_, index) => read(index));
}

function isValid(data: Data, index: number): boolean {
  return data.nullBitmap === undefined || data.nullBitmap === null || hasBit(data.nullBitmap, data.offset + index);
}

function hasBit(bytes: unknown, index: number): boolean {
  return ((toBytes(bytes)[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;
}

function toBytes(buffer: unknown): Uint8Array {
  if (buffer instanceof Uint8Array) return buffer;
  throw new TypeError('a buffer that is not bytes');
}

function numbersIn(data: Data): ArrayLike<number | bigint> {
  const values: unknown = data.values;
  if (!ArrayBuffer.isView(values) || values instanceof DataView) throw new TypeError('a buffer without numbers');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Every view but DataView is an array of numbers.
  const array = values as Int32Array | BigInt64Array;
  return array.length === data.length ? array : array.subarray(0, data.length);
}

function slices(data: Data, read: (bytes: Uint8Array) => unknown): unknown[] {
  const bytes = toBytes(data.values);
  const offsets = offsetsOf(data);
  return fill(data.length, (index) => read(bytes.subarray(Number(offsets[index]), Number(offsets[index + 1]))));
}

function offsetsOf(data: Data): ArrayLike<number | bigint> {
  const offsets: unknown = data.valueOffsets;
  if (offsets instanceof Int32Array || offsets instanceof BigInt64Array) return offsets;
  throw new TypeError('a column without offsets');
}

function decimalAt(data: Data, index: number, bitWidth: number): bigint {
  const words = bitWidth / 32;
  const buffer: unknown = data.values;
  if (!(buffer instanceof Uint32Array)) throw new TypeError('a decimal that does not consist of words');
  let value = 0n;
  for (let word = words - 1; word >= 0; word -= 1) value = (value << 32n) | BigInt(buffer[index * words + word] ?? 0);
  return BigInt.asIntN(bitWidth, value);
}

function itemsOf({ children }: Data, index: number): unknown[] {
  const child = children[index];
  return child === undefined ? [] : valuesOf(child);
}
