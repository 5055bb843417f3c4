import { DataType, DateUnit, Precision } from 'apache-arrow';
import type { RecordBatch } from 'apache-arrow';
import { LosslessNumber } from 'lossless-json';
import { formatDate, formatDecimal, formatTime, formatTimestamp } from '../../model/value-text.ts';
import { fieldOf, toBigInt } from './build-data.ts';
import { fractionDigitsOf, MILLISECONDS_PER_DAY } from './times.ts';
import { valuesOf } from './values-of.ts';

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
