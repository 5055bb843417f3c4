import { DataType, DateUnit, Precision, util } from 'apache-arrow';
import type { Data, RecordBatch } from 'apache-arrow';
import { LosslessNumber } from 'lossless-json';
import { formatDate, formatDecimal, formatTime, formatTimestamp } from '../../model/value-text.ts';
import { fieldOf, toBigInt } from './build-data.ts';
import { fractionDigitsOf, MILLISECONDS_PER_DAY } from './times.ts';

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

/**
 * A value of Arrow data as JSON has it, as in the server's own JSON replies: dates and timestamps in ISO 8601, bytes in
 * base64, `NaN` and the infinities as text. Integers and decimals with more digits than JavaScript keeps are a
 * `LosslessNumber`.
 */
export function plainValue(value: unknown, type: DataType): unknown {
  if (value === null || value === undefined) return null;
  if (DataType.isDictionary(type)) return plainValue(value, type.dictionary);
  if (DataType.isFloat(type)) return plainFloat(value, type.precision === Precision.SINGLE);
  if (DataType.isDecimal(type)) return new LosslessNumber(formatDecimal(toBigInt(value), type.scale));
  if (DataType.isDate(type)) {
    const days = type.unit === DateUnit.DAY ? Number(value) : Math.floor(Number(value) / MILLISECONDS_PER_DAY);
    return formatDate(days) ?? String(days);
  }
  if (DataType.isTimestamp(type)) {
    const hasZone = type.timezone !== null && type.timezone !== undefined;
    const ticks = toBigInt(value);
    return formatTimestamp(ticks, fractionDigitsOf(type.unit), hasZone) ?? String(ticks);
  }
  if (DataType.isTime(type)) {
    const ticks = toBigInt(value);
    return formatTime(ticks, fractionDigitsOf(type.unit)) ?? String(ticks);
  }
  if (value instanceof Uint8Array) return toBase64(value);
  if (typeof value === 'bigint') return plainInteger(value);
  return typeof value === 'object' ? plainNested(value, type) : value;
}

export type PlainRow = readonly (readonly [name: string, value: unknown])[];

export function* plainRows({ schema, data, numRows }: RecordBatch): Generator<PlainRow> {
  const columns = data.children.map((child) => valuesOf(child));
  for (let row = 0; row < numRows; row += 1) {
    yield schema.fields.map(({ name, type }, index) => [name, plainValue(columns[index]?.[row], type)]);
  }
}

function plainNested(value: object, type: DataType): unknown {
  if (DataType.isStruct(type)) {
    const entries = type.children.map(({ name, type: child }) => [name, plainValue(fieldOf(value, name), child)]);
    return Object.fromEntries(entries);
  }
  if (DataType.isMap(type) && Array.isArray(value)) {
    return value.map((entry: unknown) => ({
      key: plainValue(fieldOf(entry, 'key'), type.keyType),
      value: plainValue(fieldOf(entry, 'value'), type.valueType),
    }));
  }
  const item = type.children?.[0]?.type;
  return Array.isArray(value) && item instanceof DataType ? value.map((each) => plainValue(each, item)) : value;
}

/** A float of 32 bits in the fewest digits that mean it: 0.1, not 0.10000000149011612. */
function plainFloat(value: unknown, isSingle: boolean): unknown {
  if (typeof value !== 'number' || !Number.isFinite(value)) return String(value);
  if (!isSingle || value === 0) return value;
  for (let digits = 6; digits < 9; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return Number(value.toPrecision(9));
}

function plainInteger(value: bigint): unknown {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : new LosslessNumber(String(value));
}

/** `btoa` and `atob` are in Node and in browsers; both take text of one byte per character. */
const PIECE_BYTES = 0x8000;

export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    text += String.fromCharCode(...bytes.subarray(at, at + PIECE_BYTES));
  }
  return btoa(text);
}

export function fromBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
