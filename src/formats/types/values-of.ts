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

export type Convert = (value: unknown) => unknown;

/** Converts values and their parts: those of some types with `special`, other values without parts with `other`. */
export function deepConverter(
  type: DataType,
  special: (type: DataType) => Convert | undefined,
  other: Convert = (value) => value,
): Convert {
  const convert = special(type) ?? partsConverter(type, (part) => deepConverter(part, special, other)) ?? other;
  return (value) => (value === null || value === undefined ? null : convert(value));
}

function partsConverter(type: DataType, converterOf: (part: DataType) => Convert): Convert | undefined {
  if (DataType.isDictionary(type)) return converterOf(type.dictionary);
  if (DataType.isStruct(type)) {
    const fields = type.children.map(({ name, type: part }) => [name, converterOf(part)] as const);
    return (value) => Object.fromEntries(fields.map(([name, convert]) => [name, convert(fieldOf(value, name))]));
  }
  const item: unknown = type.children?.[0]?.type;
  if (!(item instanceof DataType)) return undefined;
  const convert = converterOf(item);
  return (value) => (isArrayLike(value) ? Array.from(value, (each) => convert(each)) : null);
}

function isArrayLike(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

/**
 * Converts values of a type to JSON, as in the server's JSON replies: dates and timestamps in ISO 8601, bytes in
 * base64, `NaN` and the infinities as text. Integers and decimals with more digits than JavaScript keeps become a
 * `LosslessNumber`.
 */
export function plainConverter(type: DataType): Convert {
  return deepConverter(type, plainSpecial, plainOther);
}

function plainSpecial(type: DataType): Convert | undefined {
  if (DataType.isFloat(type)) return (value) => plainFloat(value, type.precision === Precision.SINGLE);
  if (DataType.isDecimal(type)) return (value) => new LosslessNumber(formatDecimal(toBigInt(value), type.scale));
  if (DataType.isDate(type)) {
    const perDay = type.unit === DateUnit.DAY ? 1 : MILLISECONDS_PER_DAY;
    return (value) => {
      const days = Math.floor(Number(value) / perDay);
      return formatDate(days) ?? String(days);
    };
  }
  if (!DataType.isTimestamp(type) && !DataType.isTime(type)) return undefined;
  const digits = fractionDigitsOf(type.unit);
  const hasZone = DataType.isTimestamp(type) && type.timezone !== null && type.timezone !== undefined;
  const format = DataType.isTime(type) ? formatTime : formatTimestamp;
  return (value) => format(toBigInt(value), digits, hasZone) ?? String(toBigInt(value));
}

function plainOther(value: unknown): unknown {
  if (value instanceof Uint8Array) return toBase64(value);
  return typeof value === 'bigint' ? plainInteger(value) : value;
}

export type PlainRow = readonly (readonly [name: string, value: unknown])[];

export function plainRows({ schema, data, numRows }: RecordBatch): readonly PlainRow[] {
  const columns = data.children.map((child) => valuesOf(child).map(plainConverter(child.type)));
  return Array.from({ length: numRows }, (_, row) => {
    return schema.fields.map(({ name }, index) => [name, columns[index]?.[row]] as const);
  });
}

/** A 32-bit float with the fewest digits that identify it: 0.1, not 0.10000000149011612. */
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

/** Node and browsers have `btoa` and `atob`; both take text with one byte per character. */
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
