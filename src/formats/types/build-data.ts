import { DataType, Precision, Vector, makeData, util } from 'apache-arrow';
import type { Data, Dictionary } from 'apache-arrow';
import { invalidInput } from '../../errors/service-error.ts';

/**
 * Arrow data from values: numbers or bigints for numbers, dates, times and timestamps (a count of the type's unit) and
 * decimals (unscaled); text; bytes; arrays for lists; objects for structs; arrays of `{ key, value }` for maps; null.
 * `valuesOf` is the inverse.
 */
export function buildData(type: DataType, values: readonly unknown[]): Data {
  const { length } = values;
  if (DataType.isNull(type)) return makeData({ type, length });
  const nullCount = values.reduce((count: number, value) => (isNull(value) ? count + 1 : count), 0);
  const nullBitmap = nullCount === 0 ? undefined : bitmapOf(values, (value) => !isNull(value));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `buffersOf` pairs each type with its buffers.
  return makeData({ type, length, nullCount, nullBitmap, ...buffersOf(type, values) } as never) as Data;
}

interface Buffers {
  readonly data?: unknown;
  readonly valueOffsets?: Int32Array | BigInt64Array;
  readonly dictionary?: Vector;
  readonly child?: Data;
  readonly children?: readonly Data[];
}

function buffersOf(type: DataType, values: readonly unknown[]): Buffers {
  if (DataType.isBool(type)) return { data: bitmapOf(values, (value) => value === true) };
  if (DataType.isUtf8(type)) return textBuffers(values);
  if (DataType.isLargeUtf8(type)) return withLargeOffsets(textBuffers(values));
  if (DataType.isBinary(type)) return byteBuffers(values);
  if (DataType.isLargeBinary(type)) return withLargeOffsets(byteBuffers(values));
  if (DataType.isFixedSizeBinary(type)) return { data: fixedBytes(type.byteWidth, values) };
  if (DataType.isDecimal(type)) return { data: decimals(type.bitWidth, values) };
  if (DataType.isFixedSizeList(type)) return { child: fixedItems(type.valueType, type.listSize, values) };
  if (DataType.isList(type) || DataType.isMap(type)) return listBuffers(type.children[0]?.type, values);
  if (DataType.isStruct(type)) {
    const columnOf = (name: string): unknown[] => values.map((value) => fieldOf(value, name));
    return { children: type.children.map(({ name, type: child }) => buildData(child, columnOf(name))) };
  }
  if (DataType.isDictionary(type)) return dictionaryBuffers(type, values);
  return { data: numbers(type, values) };
}

function isNull(value: unknown): boolean {
  return value === null || value === undefined;
}

function bitmapOf(values: readonly unknown[], isSet: (value: unknown) => boolean): Uint8Array {
  // The package reads bitmaps in words of eight bytes.
  const bitmap = new Uint8Array(Math.ceil(values.length / 64) * 8);
  for (const [index, value] of values.entries()) {
    if (isSet(value)) bitmap[index >> 3] = (bitmap[index >> 3] ?? 0) | (1 << (index & 7));
  }
  return bitmap;
}

function numbers(type: DataType, values: readonly unknown[]): unknown {
  if (DataType.isFloat(type) && type.precision === Precision.HALF) {
    return Uint16Array.from(values, (value) => util.float64ToUint16(Number(value ?? 0)));
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The package types it only for each type by itself.
  const ArrayType = type.ArrayType as new (length: number) => Record<number, number | bigint>;
  const array = new ArrayType(values.length);
  const isWide = array instanceof BigInt64Array || array instanceof BigUint64Array;
  for (let index = 0; index < values.length; index += 1) {
    array[index] = isWide ? toBigInt(values[index]) : Number(values[index] ?? 0);
  }
  return array;
}

export function toBigInt(value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  return typeof value === 'number' ? BigInt(value) : 0n;
}

interface OffsetBuffers {
  readonly data: Uint8Array;
  readonly valueOffsets: Int32Array;
}

const encoder = new TextEncoder();

/** One UTF-16 code unit takes at most three bytes in UTF-8. */
const UTF8_BYTES_PER_UNIT = 3;

function textBuffers(values: readonly unknown[]): OffsetBuffers {
  const valueOffsets = new Int32Array(values.length + 1);
  let units = 0;
  for (const value of values) if (typeof value === 'string') units += value.length;
  const data = new Uint8Array(units * UTF8_BYTES_PER_UNIT);
  let at = 0;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index];
    if (typeof value === 'string') at += encoder.encodeInto(value, data.subarray(at)).written;
    valueOffsets[index + 1] = at;
  }
  return { data: data.subarray(0, at), valueOffsets };
}

function byteBuffers(values: readonly unknown[]): OffsetBuffers {
  const valueOffsets = new Int32Array(values.length + 1);
  let total = 0;
  for (const [index, value] of values.entries()) {
    total += value instanceof Uint8Array ? value.length : 0;
    valueOffsets[index + 1] = total;
  }
  const data = new Uint8Array(total);
  for (const [index, value] of values.entries()) if (value instanceof Uint8Array) data.set(value, valueOffsets[index]);
  return { data, valueOffsets };
}

function withLargeOffsets({ data, valueOffsets }: OffsetBuffers): Buffers {
  return { data, valueOffsets: BigInt64Array.from(valueOffsets, BigInt) };
}

function fixedBytes(width: number, values: readonly unknown[]): Uint8Array {
  const data = new Uint8Array(values.length * width);
  for (const [index, value] of values.entries()) if (value instanceof Uint8Array) data.set(value, index * width);
  return data;
}

function decimals(bitWidth: number, values: readonly unknown[]): Uint32Array {
  const words = bitWidth / 32;
  const data = new Uint32Array(values.length * words);
  for (const [index, value] of values.entries()) {
    let rest = BigInt.asUintN(bitWidth, toBigInt(value));
    for (let word = 0; word < words; word += 1) {
      data[index * words + word] = Number(rest & 0xffffffffn);
      rest >>= 32n;
    }
  }
  return data;
}

function fixedItems(itemType: DataType, size: number, values: readonly unknown[]): Data {
  const items: unknown[] = [];
  for (const value of values) {
    const list = toList(value);
    for (let index = 0; index < size; index += 1) items.push(list[index] ?? null);
  }
  return buildData(itemType, items);
}

function listBuffers(itemType: DataType | undefined, values: readonly unknown[]): Buffers {
  const valueOffsets = new Int32Array(values.length + 1);
  const items: unknown[] = [];
  for (const [index, value] of values.entries()) {
    for (const item of toList(value)) items.push(item);
    valueOffsets[index + 1] = items.length;
  }
  if (itemType === undefined) throw new TypeError('a list without an item');
  return { child: buildData(itemType, items), valueOffsets };
}

function dictionaryBuffers({ dictionary, indices }: Dictionary, values: readonly unknown[]): Buffers {
  const places = new Map<unknown, number>();
  for (const value of values) if (!isNull(value) && !places.has(value)) places.set(value, places.size);
  const max = 2 ** (indices.isSigned ? indices.bitWidth - 1 : indices.bitWidth);
  if (places.size > max) {
    const hint = 'Send fewer rows at once, or make it a plain column.';
    throw invalidInput(`A column has ${places.size} different values; its dictionary holds at most ${max}.`, hint);
  }
  const data = numbers(
    indices,
    values.map((value) => places.get(value)),
  );
  return { data, dictionary: new Vector([buildData(dictionary, [...places.keys()])]) };
}

/** Ignores inherited properties. */
export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;
}

function toList(value: unknown): readonly unknown[] | Float32Array | Float64Array {
  return Array.isArray(value) || value instanceof Float32Array || value instanceof Float64Array ? value : [];
}
