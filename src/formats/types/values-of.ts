import { DataType, Precision, util } from 'apache-arrow';
import type { Data, Vector } from 'apache-arrow';

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
  if (DataType.isNull(type)) return Array.from({ length }, () => null);
  if (DataType.isBool(type)) return fill(length, (index) => bit(data.values, data.offset + index));
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return texts(data);
  if (DataType.isBinary(type) || DataType.isLargeBinary(type)) return slices(data, (bytes) => bytes.slice());
  if (DataType.isFixedSizeBinary(type)) {
    return fill(length, (index) => toBytes(data.values).slice(index * type.byteWidth, (index + 1) * type.byteWidth));
  }
  if (DataType.isDecimal(type)) return fill(length, (index) => decimalAt(data, index, type.bitWidth));
  if (DataType.isDictionary(type)) return dictionaryValues(data);
  if (DataType.isStruct(type)) return structs(data);
  if (DataType.isFixedSizeList(type)) return fixedLists(data, type.listSize);
  if (DataType.isList(type) || DataType.isMap(type)) return lists(data);
  if (DataType.isFloat(type) && type.precision === Precision.HALF) {
    return Array.from(numbersIn(data), (value) => util.uint16ToFloat64(Number(value)));
  }
  return Array.from(numbersIn(data));
}

function fill(length: number, read: (index: number) => unknown): unknown[] {
  return Array.from({ length }, (_, index) => read(index));
}

function isValid(data: Data, index: number): boolean {
  return data.nullBitmap === undefined || data.nullBitmap === null || bit(data.nullBitmap, data.offset + index);
}

function bit(bytes: unknown, index: number): boolean {
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

const decoder = new TextDecoder();

function texts(data: Data): unknown[] {
  return slices(data, (bytes) => decoder.decode(bytes));
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
  if (!(buffer instanceof Uint32Array)) throw new TypeError('a decimal that is not made of words');
  let value = 0n;
  for (let word = words - 1; word >= 0; word -= 1) value = (value << 32n) | BigInt(buffer[index * words + word] ?? 0);
  return BigInt.asIntN(bitWidth, value);
}

function dictionaryValues(data: Data): unknown[] {
  const dictionary: Vector | undefined = data.dictionary;
  const values = (dictionary?.data ?? []).flatMap((chunk: Data) => valuesOf(chunk));
  return Array.from(numbersIn(data), (index) => values[Number(index)] ?? null);
}

function structs(data: Data): unknown[] {
  const { children } = data.type;
  const columns = data.children.map((child) => valuesOf(child));
  return fill(data.length, (index) => {
    const entries = children.map(
      ({ name }: { name: string }, column: number) => [name, columns[column]?.[index]] as const,
    );
    return Object.fromEntries(entries);
  });
}

function fixedLists(data: Data, size: number): unknown[] {
  const items = itemsOf(data);
  return fill(data.length, (index) => items.slice(index * size, (index + 1) * size));
}

function lists(data: Data): unknown[] {
  const items = itemsOf(data);
  const offsets = offsetsOf(data);
  return fill(data.length, (index) => items.slice(Number(offsets[index]), Number(offsets[index + 1])));
}

function itemsOf(data: Data): unknown[] {
  const [child] = data.children;
  return child === undefined ? [] : valuesOf(child);
}
