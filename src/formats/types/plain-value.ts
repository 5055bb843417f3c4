import { DataType, DateUnit, Precision } from 'apache-arrow';
import type { Decimal } from 'apache-arrow';
import { LosslessNumber } from '../json/exact-json.ts';
import { formatClock, formatDay, formatMoment } from './times.ts';

/**
 * A value of Arrow data as JSON has it, in the words of the server's own JSON replies: days and moments as ISO 8601,
 * bytes as base64, `NaN` and the infinities as text. Integers and decimals with more digits than JavaScript keeps are
 * a `LosslessNumber`.
 */
export function plainValue(value: unknown, type: DataType): unknown {
  if (value === null || value === undefined) return null;
  if (DataType.isDictionary(type)) return plainValue(value, type.dictionary);
  if (DataType.isFloat(type)) return plainFloat(value, type.precision === Precision.SINGLE);
  if (DataType.isDecimal(type)) return new LosslessNumber(formatDecimal(toBigInt(value), type));
  if (DataType.isDate(type)) return formatDay(dayOf(value, type.unit));
  if (DataType.isTimestamp(type)) {
    return formatMoment(toBigInt(value), type.unit, type.timezone !== null && type.timezone !== undefined);
  }
  if (DataType.isTime(type)) return formatClock(toBigInt(value), type.unit);
  if (value instanceof Uint8Array) return toBase64(value);
  if (typeof value === 'bigint') return plainInteger(value);
  return typeof value === 'object' ? plainNested(value, type) : value;
}

function plainNested(value: object, type: DataType): unknown {
  if (DataType.isStruct(type)) {
    return Object.fromEntries(
      type.children.map(({ name, type: child }) => [name, plainValue(partOf(value, name), child)]),
    );
  }
  if (DataType.isMap(type) && Array.isArray(value)) {
    return value.map((entry: unknown) => ({
      key: plainValue(partOf(entry, 'key'), type.keyType),
      value: plainValue(partOf(entry, 'value'), type.valueType),
    }));
  }
  const item = type.children?.[0]?.type;
  return Array.isArray(value) && item instanceof DataType ? value.map((each) => plainValue(each, item)) : value;
}

function partOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : null;
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

export function formatDecimal(value: bigint, { scale }: Decimal): string {
  if (scale <= 0) return String(value * 10n ** BigInt(-scale));
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
  return `${value < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function dayOf(value: unknown, unit: DateUnit): number {
  return unit === DateUnit.DAY ? Number(value) : Math.floor(Number(value) / 86_400_000);
}

function toBigInt(value: unknown): bigint {
  return typeof value === 'bigint' ? value : BigInt(Math.trunc(Number(value)));
}

/** `btoa` and `atob` are in Node and in browsers; both know only texts of bytes. */
const PIECE = 0x8000;

export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += PIECE) text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(text);
}

export function fromBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
