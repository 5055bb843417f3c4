import { DataType, DateUnit, Precision } from 'apache-arrow';
import type { Decimal, Float, Int, Struct } from 'apache-arrow';
import { LosslessNumber } from 'lossless-json';
import { isJsonObject, parseExactJson } from '../json/exact-json.ts';
import type { JsonObject } from '../json/exact-json.ts';
import { MILLISECONDS_PER_DAY, parseDate, parseTime, parseTimestamp, SECONDS_PER_DAY, toUnits } from './times.ts';
import { formatType } from './type-text.ts';
import { fromBase64 } from './values-of.ts';
import type { Convert } from './values-of.ts';

/** A value does not fit its type. The reader adds the value's position. */
export class ConversionError extends Error {
  override readonly name = 'ConversionError';
}

interface Rules {
  /** Whether floats refuse whole numbers whose digits they would lose. */
  readonly keepDigits?: boolean;
}

/** Converts a JSON value, or a text of a CSV file, to the form that `buildData` takes for a type. */
export function converterFor(type: DataType, rules: Rules = {}): Convert {
  const convert = valueConverter(type, rules);
  return (value) => (value === null || value === undefined ? null : convert(value));
}

/** Like `converterFor`, for types that the caller did not choose: whole numbers keep their digits. */
export function detectedConverter(type: DataType): Convert {
  const convert = converterFor(type, { keepDigits: true });
  const isRounding =
    DataType.isFixedSizeList(type) && DataType.isFloat(type.valueType) && type.valueType.precision === Precision.SINGLE;
  if (!isRounding) return convert;
  return (value) => {
    const items = fromJsonText(value);
    const rounded: unknown = Array.isArray(items) ? items.find((item) => isRoundedInteger(item)) : undefined;
    if (rounded === undefined) return convert(items);
    const remedy = 'load the column as a list (--no-vector), or choose its type (--type)';
    throw new ConversionError(`has the number ${toText(rounded)}, which a vector would round: ${remedy}`);
  };
}

/** Whether a 32-bit float would be a different whole number. */
export function isRoundedInteger(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && Math.fround(value) !== value;
  const integer = value instanceof LosslessNumber ? integerOf(value) : undefined;
  if (integer === undefined) return false;
  const float = Math.fround(Number(integer));
  return !Number.isFinite(float) || BigInt(float) !== integer;
}

function valueConverter(type: DataType, rules: Rules): Convert {
  if (DataType.isNull(type)) return (value) => misfit(value, 'null');
  if (DataType.isBool(type)) return toBool;
  if (DataType.isInt(type)) return toInteger(type);
  if (DataType.isFloat(type)) return toFloat(type, rules);
  if (DataType.isDecimal(type)) return (value) => toDecimal(value, type);
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return toText;
  if (DataType.isBinary(type) || DataType.isLargeBinary(type)) return (value) => toBytes(value, undefined);
  if (DataType.isFixedSizeBinary(type)) return (value) => toBytes(value, type.byteWidth);
  if (DataType.isDictionary(type)) return valueConverter(type.dictionary, rules);
  return timeConverter(type) ?? nestedConverter(type, rules);
}

function timeConverter(type: DataType): Convert | undefined {
  const convert = countConverter(type);
  if (convert === undefined) return undefined;
  const isNarrow = DataType.isDate(type) ? type.unit === DateUnit.DAY : DataType.isTime(type) && type.bitWidth === 32;
  const bits = isNarrow ? 32 : 64;
  return (value) => {
    const count = convert(value);
    return BigInt.asIntN(bits, count) === count ? count : misfit(value, `a value in the range of ${formatType(type)}`);
  };
}

/** Converts to a count of the type's unit, of any size. */
function countConverter(type: DataType): ((value: unknown) => bigint) | undefined {
  if (DataType.isDate(type)) {
    const unitsPerDay = type.unit === DateUnit.DAY ? 1n : BigInt(MILLISECONDS_PER_DAY);
    return (value) => BigInt(toDays(value)) * unitsPerDay;
  }
  if (DataType.isTimestamp(type)) {
    return (value) => {
      const parsed = typeof value === 'string' ? parseTimestamp(value.trim()) : undefined;
      const count = parsed === undefined ? undefined : toUnits(parsed.seconds, parsed.nanoseconds, type.unit);
      const wanted = 'a timestamp such as 2024-05-06T07:08:09Z, not finer than the unit of the column';
      return count ?? integerOf(value) ?? misfit(value, wanted);
    };
  }
  if (DataType.isTime(type)) {
    return (value) => {
      const count = typeof value === 'string' ? parseTime(value.trim(), type.unit) : integerOf(value);
      return count ?? misfit(value, 'a time such as 07:08:09');
    };
  }
  if (DataType.isDuration(type)) return (value) => integerOf(value) ?? misfit(value, 'a whole number');
  return undefined;
}

function nestedConverter(type: DataType, rules: Rules): Convert {
  if (DataType.isFixedSizeList(type) || DataType.isList(type)) {
    const item = converterFor(type.valueType, rules);
    const length = DataType.isFixedSizeList(type) ? type.listSize : undefined;
    return (value) => toItems(fromJsonText(value), length).map((each) => item(each));
  }
  if (DataType.isStruct(type)) return toStruct(type, rules);
  if (DataType.isMap(type)) {
    const [key, value] = [converterFor(type.keyType, rules), converterFor(type.valueType, rules)];
    return (given) =>
      entriesOf(fromJsonText(given)).map((entry) => ({ key: key(entry['key']), value: value(entry['value']) }));
  }
  throw new ConversionError('The type cannot be read from text.');
}

function toBool(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  const word = typeof value === 'string' ? value.trim().toLowerCase() : '';
  if (['true', 't', 'yes', '1'].includes(word) || value === 1) return true;
  if (['false', 'f', 'no', '0'].includes(word) || value === 0) return false;
  return misfit(value, 'true or false');
}

function toInteger(type: Int): Convert {
  const [low, high] = type.isSigned
    ? [-(2n ** BigInt(type.bitWidth - 1)), 2n ** BigInt(type.bitWidth - 1) - 1n]
    : [0n, 2n ** BigInt(type.bitWidth) - 1n];
  const [lowNumber, highNumber] = [Number(low), Number(high)];
  return (value) => {
    const number = typeof value === 'number' ? value : shortInteger(value);
    if (number !== undefined && Number.isSafeInteger(number) && number >= lowNumber && number <= highNumber) {
      return number;
    }
    const integer = integerOf(value);
    if (integer === undefined || integer < low || integer > high) {
      return misfit(value, `an integer from ${low} to ${high}`);
    }
    return type.bitWidth === 64 ? integer : Number(integer);
  };
}

const INTEGER = /^\s*[+-]?\d+\s*$/;

/** The common case, without the cost of a bigint. */
function shortInteger(value: unknown): number | undefined {
  return typeof value === 'string' && value.length <= 15 && INTEGER.test(value) ? Number(value) : undefined;
}

function integerOf(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : undefined;
  const text = value instanceof LosslessNumber ? value.value : value;
  if (typeof text !== 'string' || text.length > 80 || !INTEGER.test(text)) return undefined;
  return BigInt(text.trim().replace('+', ''));
}

/** Whether it is a whole number that changes as a 64-bit float. */
export function losesDigits(text: string): boolean {
  return text.length > 15 && INTEGER.test(text) && String(Number(text)) !== text;
}

const FLOAT = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
export const SPECIAL_FLOAT = /^(nan|([+-]?)inf(?:inity)?)$/i;

export function parseFloatText(text: string): number | undefined {
  if (FLOAT.test(text)) return Number.isFinite(Number(text)) ? Number(text) : undefined;
  const special = SPECIAL_FLOAT.exec(text);
  if (special === null) return undefined;
  return special[2] === undefined ? Number.NaN : Number(`${special[2]}Infinity`);
}

function toFloat(type: Float, { keepDigits = false }: Rules): Convert {
  const limit = ROUNDED_TO_INFINITY[type.precision];
  return (value) => {
    const text = value instanceof LosslessNumber ? value.value : value;
    const number = typeof text === 'string' ? parseFloatText(text.trim()) : text;
    if (typeof number !== 'number') return misfit(value, 'a number');
    if (keepDigits && typeof text === 'string' && losesDigits(text.trim())) {
      return misfit(value, `a number that ${formatType(type)} does not round`);
    }
    const isTooLarge = Math.abs(number) >= limit && Number.isFinite(number);
    return isTooLarge ? misfit(value, `a number in the range of ${formatType(type)}`) : number;
  };
}

/** The smallest number that rounds to infinity in each precision. */
const ROUNDED_TO_INFINITY: Readonly<Record<Precision, number>> = {
  [Precision.HALF]: 65_520,
  [Precision.SINGLE]: 2 ** 128 - 2 ** 103,
  [Precision.DOUBLE]: Infinity,
};

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?$/;

function toDecimal(value: unknown, { precision, scale }: Decimal): bigint {
  const match = DECIMAL.exec(String(value).trim());
  const [, sign = '', whole = '', fraction = ''] = match ?? [];
  const step = 10n ** BigInt(Math.max(-scale, 0));
  const places = Math.max(scale, 0);
  const wanted =
    scale < 0
      ? `a multiple of ${step} with at most ${precision - scale} digits`
      : `a number with at most ${precision} digits, ${scale} of them after the decimal point`;
  if (match === null || whole + fraction === '' || fraction.length > places) return misfit(value, wanted);
  const digits = BigInt(`${whole}${fraction.padEnd(places, '0')}`);
  const unscaled = digits / step;
  if (digits % step !== 0n || unscaled >= 10n ** BigInt(precision)) return misfit(value, wanted);
  return sign === '-' ? -unscaled : unscaled;
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (value instanceof LosslessNumber) return value.value;
  return JSON.stringify(value, (_, part: unknown) => (part instanceof LosslessNumber ? part.value : part));
}

const UUID = /^\s*[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\s*$/i;
const UUID_BYTES = 16;

function toBytes(value: unknown, length: number | undefined): Uint8Array {
  const isUuid = length === UUID_BYTES && typeof value === 'string' && UUID.test(value);
  if (isUuid) return Uint8Array.from(value.match(/[\da-f]{2}/gi) ?? [], (pair) => Number.parseInt(pair, 16));
  const wanted = length === UUID_BYTES ? 'base64, or a UUID' : 'base64';
  const bytes = typeof value === 'string' ? fromBase64(value) : undefined;
  if (bytes === undefined) return misfit(value, `bytes in ${wanted}`);
  if (length !== undefined && bytes.length !== length) return misfit(value, `${length} bytes in ${wanted}`);
  return bytes;
}

function toDays(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  const text = typeof value === 'string' ? value.trim() : '';
  return parseDate(text) ?? dayOfMidnight(text) ?? misfit(value, 'a date such as 2024-05-06');
}

function dayOfMidnight(text: string): number | undefined {
  const parsed = parseTimestamp(text);
  const isMidnight = parsed?.nanoseconds === 0n && parsed.seconds % BigInt(SECONDS_PER_DAY) === 0n;
  return isMidnight ? Number(parsed.seconds) / SECONDS_PER_DAY : undefined;
}

function toStruct(type: Struct, rules: Rules): Convert {
  const converters = new Map(type.children.map((child) => [child.name, converterFor(child.type, rules)]));
  return (given) => {
    const value = fromJsonText(given);
    if (!isJsonObject(value)) return misfit(given, 'an object');
    const entries = Object.entries(value).map(([name, part]) => {
      const convert = converters.get(name);
      if (convert === undefined)
        throw new ConversionError(`has a field ${JSON.stringify(name)} that its type does not have`);
      return [name, convert(part)] as const;
    });
    return Object.fromEntries(entries);
  };
}

/** In a CSV file, lists and objects are JSON. */
function fromJsonText(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return parseExactJson(value);
  } catch {
    return misfit(value, 'JSON');
  }
}

function toItems(value: unknown, length: number | undefined): readonly unknown[] {
  if (!Array.isArray(value)) return misfit(value, 'a list');
  if (length === undefined || value.length === length) return value;
  throw new ConversionError(`has ${value.length} values instead of ${length}`);
}

function entriesOf(value: unknown): readonly JsonObject[] {
  if (isJsonObject(value)) return Object.entries(value).map(([key, part]) => ({ key, value: part }));
  if (!Array.isArray(value)) return misfit(value, 'an object');
  return value.map((entry: unknown) => {
    return isJsonObject(entry) && 'key' in entry ? entry : misfit(entry, '{"key": …, "value": …}');
  });
}

const SHOWN_CHARACTERS = 60;

function misfit(value: unknown, wanted: string): never {
  const text = toText(value);
  const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
  throw new ConversionError(`is ${JSON.stringify(shown)}; expected ${wanted}`);
}
