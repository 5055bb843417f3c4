import type { Field, TimeUnit } from '../../model/schema.ts';
import { readOffset } from './dictionary-message.ts';
import { EXTENSION_NAME_KEY } from '../schema/schema-rules.ts';
import { isValid } from './result-columns.ts';
import type { ResultColumn } from './result-columns.ts';

/** JSON text of the value in a row. */
export type JsonWriter = (row: number) => string;

/** Values of a dictionary, by the type of the column that uses it. */
export type FindDictionary = (column: ResultColumn) => ResultColumn;

const NULL = 'null';
const UUID_EXTENSION = 'arrow.uuid';

/**
 * How the values of a column are written: integers and decimals as numbers with all their digits, what JSON has no number
 * for as text (`"NaN"`), bytes in base64, days and moments in ISO 8601, durations as a count of their unit.
 */
export function jsonWriter(column: ResultColumn, dictionaryOf: FindDictionary): JsonWriter {
  const write = valueWriter(column, dictionaryOf);
  return column.validity === undefined ? write : (row) => (isValid(column, row) ? write(row) : NULL);
}

function valueWriter(column: ResultColumn, dictionaryOf: FindDictionary): JsonWriter {
  const { type } = column;
  const [values = Buffer.alloc(0)] = column.buffers;
  switch (type.kind) {
    case 'bool':
      return (row) => ((((values[row >> 3] ?? 0) >> (row & 7)) & 1) === 1 ? 'true' : 'false');
    case 'int':
      return integerWriter(values, type.bits, type.signed);
    case 'float':
      return floatWriter(values, type.bits);
    case 'decimal':
      return (row) => formatDecimal(readWide(values, row, type.bits / 8), type.scale);
    case 'utf8':
    case 'binary':
      return bytesWriter(column, type.layout === 'large' ? 8 : 4, type.kind === 'utf8');
    case 'fixed-size-binary':
      return fixedBytesWriter(values, type.bytes, column.field);
    case 'date':
      return type.unit === 'day'
        ? (row) => formatDay(values.readInt32LE(4 * row))
        : (row) => formatDay(Math.floor(Number(values.readBigInt64LE(8 * row)) / 86_400_000));
    case 'time':
      return (row) => formatClock(readTicks(values, row, type.bits), type.unit);
    case 'timestamp':
      return momentWriter(values, type.unit, type.timezone !== undefined);
    case 'duration':
      return (row) => String(values.readBigInt64LE(8 * row));
    case 'dictionary':
      return dictionaryWriter(column, dictionaryOf);
    case 'struct':
      return structWriter(column.children, dictionaryOf);
    case 'list':
      return listWriter(column, type.layout === 'large' ? 8 : 4, dictionaryOf);
    case 'map':
      return listWriter(column, 4, dictionaryOf);
    case 'fixed-size-list':
      return fixedListWriter(column, type.length, dictionaryOf);
    default:
      return () => NULL;
  }
}

function integerWriter(values: Buffer, bits: number, signed: boolean): JsonWriter {
  if (bits === 64) {
    return (row) => String(signed ? values.readBigInt64LE(8 * row) : values.readBigUInt64LE(8 * row));
  }
  const bytes = bits / 8;
  return (row) => String(signed ? values.readIntLE(bytes * row, bytes) : values.readUIntLE(bytes * row, bytes));
}

function floatWriter(values: Buffer, bits: number): JsonWriter {
  if (bits === 64) return (row) => formatNumber(values.readDoubleLE(8 * row));
  if (bits === 32) return (row) => formatNumber(values.readFloatLE(4 * row));
  return (row) => formatNumber(fromHalf(values.readUInt16LE(2 * row)));
}

function formatNumber(value: number): string {
  if (Number.isFinite(value)) return Object.is(value, -0) ? '-0' : String(value);
  return `"${value}"`;
}

/** IEEE 754 in 16 bits: one of sign, five of exponent, ten of fraction. */
function fromHalf(bits: number): number {
  const sign = bits >> 15 === 1 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

function readWide(values: Buffer, row: number, bytes: number): bigint {
  let value = 0n;
  for (let at = bytes * (row + 1) - 8; at >= bytes * row; at -= 8) {
    value = (value << 64n) | values.readBigUInt64LE(at);
  }
  return BigInt.asIntN(8 * bytes, value);
}

function formatDecimal(unscaled: bigint, scale: number): string {
  if (scale <= 0) return String(unscaled * 10n ** BigInt(-scale));
  const sign = unscaled < 0n ? '-' : '';
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function bytesWriter({ buffers }: ResultColumn, width: 4 | 8, isText: boolean): JsonWriter {
  const [offsets = Buffer.alloc(0), data = Buffer.alloc(0)] = buffers;
  return (row) => {
    const bytes = data.subarray(readOffset(offsets, row, width), readOffset(offsets, row + 1, width));
    return isText ? JSON.stringify(bytes.toString('utf8')) : `"${bytes.toString('base64')}"`;
  };
}

function fixedBytesWriter(values: Buffer, bytes: number, field: Field): JsonWriter {
  const isUuid = bytes === 16 && field.metadata.get(EXTENSION_NAME_KEY) === UUID_EXTENSION;
  return (row) => {
    const value = values.subarray(bytes * row, bytes * (row + 1));
    return isUuid ? `"${formatUuid(value)}"` : `"${value.toString('base64')}"`;
  };
}

function formatUuid(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function readTicks(values: Buffer, row: number, bits: number): bigint {
  return bits === 32 ? BigInt(values.readInt32LE(4 * row)) : values.readBigInt64LE(8 * row);
}

function momentWriter(values: Buffer, unit: TimeUnit, isInstant: boolean): JsonWriter {
  return (row) => formatMoment(values.readBigInt64LE(8 * row), unit, isInstant);
}

function dictionaryWriter(column: ResultColumn, dictionaryOf: FindDictionary): JsonWriter {
  const { type } = column;
  const [indices = Buffer.alloc(0)] = column.buffers;
  const bytes = type.kind === 'dictionary' && type.index.kind === 'int' ? type.index.bits / 8 : 4;
  const write = jsonWriter(dictionaryOf(column), dictionaryOf);
  return (row) => write(bytes === 8 ? Number(indices.readBigInt64LE(8 * row)) : indices.readUIntLE(bytes * row, bytes));
}

export function structWriter(children: readonly ResultColumn[], dictionaryOf: FindDictionary): JsonWriter {
  const members = children.map((child) => {
    return { key: `${JSON.stringify(child.field.name)}:`, write: jsonWriter(child, dictionaryOf) };
  });
  return (row) => `{${members.map(({ key, write }) => key + write(row)).join(',')}}`;
}

function listWriter(column: ResultColumn, width: 4 | 8, dictionaryOf: FindDictionary): JsonWriter {
  const [offsets = Buffer.alloc(0)] = column.buffers;
  const writeItems = itemsWriter(column, dictionaryOf);
  return (row) => writeItems(readOffset(offsets, row, width), readOffset(offsets, row + 1, width));
}

function fixedListWriter(column: ResultColumn, length: number, dictionaryOf: FindDictionary): JsonWriter {
  const writeItems = itemsWriter(column, dictionaryOf);
  return (row) => writeItems(length * row, length * (row + 1));
}

function itemsWriter({ children }: ResultColumn, dictionaryOf: FindDictionary): (start: number, end: number) => string {
  const [item] = children;
  const write = item === undefined ? () => NULL : jsonWriter(item, dictionaryOf);
  return (start, end) => {
    const items: string[] = [];
    for (let at = start; at < end; at += 1) items.push(write(at));
    return `[${items.join(',')}]`;
  };
}

const DIGITS: Readonly<Record<TimeUnit, number>> = { s: 0, ms: 3, us: 6, ns: 9 };
const MILLISECONDS_PER_DAY = 86_400_000;

/** `"2024-01-31"`. */
export function formatDay(days: number): string {
  const date = new Date(days * MILLISECONDS_PER_DAY);
  return isWritable(date) ? `"${date.toISOString().replace(/T.*$/, '')}"` : String(days);
}

/** `"2024-01-31T10:00:00.000001Z"`; without a zone, when the column has none, also here. */
export function formatMoment(ticks: bigint, unit: TimeUnit, isInstant: boolean): string {
  const { seconds, fraction } = split(ticks, unit);
  const date = new Date(Number(seconds) * 1000);
  if (!isWritable(date)) return String(ticks);
  return `"${date.toISOString().slice(0, -5)}${fraction}${isInstant ? 'Z' : ''}"`;
}

/** `"10:00:00.000001"`. */
export function formatClock(ticks: bigint, unit: TimeUnit): string {
  const { seconds, fraction } = split(ticks, unit);
  const isInDay = seconds >= 0n && seconds < 86_400n;
  return isInDay ? `"${new Date(Number(seconds) * 1000).toISOString().slice(11, 19)}${fraction}"` : String(ticks);
}

/** Beyond the years that a date can have, the count itself is written. */
function isWritable(date: Date): boolean {
  return !Number.isNaN(date.getTime());
}

function split(ticks: bigint, unit: TimeUnit): { readonly seconds: bigint; readonly fraction: string } {
  const digits = DIGITS[unit];
  const perSecond = 10n ** BigInt(digits);
  const rest = ((ticks % perSecond) + perSecond) % perSecond;
  const fraction = digits === 0 ? '' : `.${String(rest).padStart(digits, '0')}`;
  return { seconds: (ticks - rest) / perSecond, fraction };
}
