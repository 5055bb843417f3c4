import { DataType, DateUnit, Precision, makeData, util } from 'apache-arrow';
import type { Data, FixedSizeList, Map_, Struct } from 'apache-arrow';

/**
 * Arrow data out of values. Their forms: numbers and bigints for numbers, days, times and moments (a count of the
 * type's unit) and decimals (unscaled); text; bytes; arrays for lists; objects for structs; arrays of `{ key, value }`
 * for maps; null. `values-of.ts` goes the other way.
 */
export function buildData(type: DataType, values: readonly unknown[]): Data {
  const nulls = nullBitmap(values);
  const common: Props = { type, length: values.length, nullCount: nulls.count, nullBitmap: nulls.bitmap };
  if (DataType.isNull(type)) return make({ type, length: values.length });
  if (DataType.isBool(type)) return make({ ...common, data: bits(values) });
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return make({ ...common, ...textBuffers(type, values) });
  if (DataType.isBinary(type) || DataType.isLargeBinary(type)) return make({ ...common, ...byteBuffers(type, values) });
  if (DataType.isFixedSizeBinary(type)) return make({ ...common, data: fixedBytes(type.byteWidth, values) });
  if (DataType.isDecimal(type)) return make({ ...common, data: decimals(type.bitWidth, values) });
  if (DataType.isFixedSizeList(type)) return make({ ...common, child: fixedItems(type, values) });
  if (DataType.isList(type)) return make({ ...common, ...listParts(type.children[0]?.type, values) });
  if (DataType.isMap(type)) return make({ ...common, ...mapParts(type, values) });
  if (DataType.isStruct(type)) return make({ ...common, children: structChildren(type, values) });
  return make({ ...common, data: numbers(type, values) });
}

interface Props {
  readonly type: DataType;
  readonly length: number;
  readonly nullCount?: number;
  readonly nullBitmap?: Uint8Array | undefined;
  readonly data?: unknown;
  readonly valueOffsets?: unknown;
  readonly child?: Data;
  readonly children?: readonly Data[];
}

function make(props: Props): Data {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The branches above pair each type with its buffers.
  return makeData(props as never) as Data;
}

function nullBitmap(values: readonly unknown[]): { bitmap: Uint8Array | undefined; count: number } {
  let count = 0;
  for (const value of values) if (value === null || value === undefined) count += 1;
  if (count === 0) return { bitmap: undefined, count };
  const bitmap = new Uint8Array(bitmapBytes(values.length));
  for (const [index, value] of values.entries()) {
    if (value !== null && value !== undefined) bitmap[index >> 3] = (bitmap[index >> 3] ?? 0) | (1 << (index & 7));
  }
  return { bitmap, count };
}

/** The package reads bitmaps in words of eight bytes. */
function bitmapBytes(length: number): number {
  return Math.ceil(length / 64) * 8;
}

function bits(values: readonly unknown[]): Uint8Array {
  const bitmap = new Uint8Array(bitmapBytes(values.length));
  for (const [index, value] of values.entries()) {
    if (value === true) bitmap[index >> 3] = (bitmap[index >> 3] ?? 0) | (1 << (index & 7));
  }
  return bitmap;
}

function numbers(type: DataType, values: readonly unknown[]): unknown {
  if (DataType.isFloat(type) && type.precision === Precision.HALF) {
    return Uint16Array.from(values, (value) => util.float64ToUint16(Number(value ?? 0)));
  }
  if (isWide(type)) {
    const wide =
      DataType.isInt(type) && !type.isSigned ? new BigUint64Array(values.length) : new BigInt64Array(values.length);
    for (let index = 0; index < values.length; index += 1) wide[index] = toBigInt(values[index]);
    return wide;
  }
  const narrow = narrowArray(type, values.length);
  for (let index = 0; index < values.length; index += 1) narrow[index] = Number(values[index] ?? 0);
  return narrow;
}

/** Numbers of eight bytes that are not floats. */
export function isWide(type: DataType): boolean {
  if (DataType.isInt(type) || DataType.isTime(type)) return type.bitWidth === 64;
  if (DataType.isDate(type)) return type.unit === DateUnit.MILLISECOND;
  return DataType.isTimestamp(type) || DataType.isDuration(type);
}

function narrowArray(type: DataType, length: number): Record<number, number> {
  if (DataType.isFloat(type))
    return type.precision === Precision.SINGLE ? new Float32Array(length) : new Float64Array(length);
  if (!DataType.isInt(type)) return new Int32Array(length);
  if (type.bitWidth === 8) return type.isSigned ? new Int8Array(length) : new Uint8Array(length);
  if (type.bitWidth === 16) return type.isSigned ? new Int16Array(length) : new Uint16Array(length);
  return type.isSigned ? new Int32Array(length) : new Uint32Array(length);
}

function toBigInt(value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  return typeof value === 'number' ? BigInt(value) : 0n;
}

const encoder = new TextEncoder();

/** A character of UTF-16 is at most three bytes of UTF-8. */
const UTF8_BYTES_PER_UNIT = 3;

function textBuffers(type: DataType, values: readonly unknown[]): { data: Uint8Array; valueOffsets: unknown } {
  const offsets = new Int32Array(values.length + 1);
  let units = 0;
  for (const value of values) if (typeof value === 'string') units += value.length;
  let data = new Uint8Array(Math.ceil(units * 1.25) + 64);
  let at = 0;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index];
    if (typeof value === 'string') {
      const needed = at + value.length * UTF8_BYTES_PER_UNIT;
      if (needed > data.length) data = grown(data, needed);
      at += encoder.encodeInto(value, data.subarray(at)).written;
    }
    offsets[index + 1] = at;
  }
  return { data: data.subarray(0, at), valueOffsets: offsetsFor(type, offsets) };
}

function grown(data: Uint8Array, needed: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(data.length * 2, needed));
  larger.set(data);
  return larger;
}

function byteBuffers(type: DataType, values: readonly unknown[]): { data: Uint8Array; valueOffsets: unknown } {
  const offsets = new Int32Array(values.length + 1);
  let total = 0;
  for (const [index, value] of values.entries()) {
    total += value instanceof Uint8Array ? value.length : 0;
    offsets[index + 1] = total;
  }
  const data = new Uint8Array(total);
  for (const [index, value] of values.entries()) if (value instanceof Uint8Array) data.set(value, offsets[index]);
  return { data, valueOffsets: offsetsFor(type, offsets) };
}

function offsetsFor(type: DataType, offsets: Int32Array): Int32Array | BigInt64Array {
  if (!DataType.isLargeUtf8(type) && !DataType.isLargeBinary(type)) return offsets;
  return BigInt64Array.from(offsets, BigInt);
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

function fixedItems(type: FixedSizeList, values: readonly unknown[]): Data {
  const items: unknown[] = [];
  for (const value of values) {
    const list = toList(value);
    for (let index = 0; index < type.listSize; index += 1)
      items.push(list === undefined ? null : (list[index] ?? null));
  }
  return buildData(type.valueType, items);
}

function listParts(itemType: DataType | undefined, values: readonly unknown[]): { child: Data; valueOffsets: unknown } {
  const offsets = new Int32Array(values.length + 1);
  const items: unknown[] = [];
  for (const [index, value] of values.entries()) {
    for (const item of toList(value) ?? []) items.push(item);
    offsets[index + 1] = items.length;
  }
  if (itemType === undefined) throw new TypeError('a list without an item');
  return { child: buildData(itemType, items), valueOffsets: offsets };
}

function mapParts(type: Map_, values: readonly unknown[]): { child: Data; valueOffsets: unknown } {
  return listParts(type.children[0]?.type, values);
}

function structChildren(type: Struct, values: readonly unknown[]): readonly Data[] {
  return type.children.map(({ name, type: child }) =>
    buildData(
      child,
      values.map((value) => fieldOf(value, name)),
    ),
  );
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}

function toList(value: unknown): (ArrayLike<unknown> & Iterable<unknown>) | undefined {
  return Array.isArray(value) || isNumberArray(value) ? value : undefined;
}

function isNumberArray(value: unknown): value is Float32Array | Float64Array {
  return value instanceof Float32Array || value instanceof Float64Array;
}
