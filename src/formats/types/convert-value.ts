import { DataType, DateUnit } from 'apache-arrow';
import type { Decimal, FixedSizeList, Int, Struct } from 'apache-arrow';
import { fromBase64 } from './plain-value.ts';
import { LosslessNumber, parseLongJson } from '../json/exact-json.ts';
import { parseClock, parseDay, parseMoment, toUnits } from './times.ts';

/** A value does not fit its type. The reader adds where it stood. */
export class ConversionError extends Error {
  readonly fault: string;

  constructor(fault: string) {
    super(fault);
    this.name = 'ConversionError';
    this.fault = fault;
  }
}

export type Convert = (value: unknown) => unknown;

/** From a text of a CSV file or a value of a JSON text to the form that `buildData` takes for a type. */
export function converterFor(type: DataType): Convert {
  const convert = valueConverter(type);
  return (value) => (value === null || value === undefined ? null : convert(value));
}

function valueConverter(type: DataType): Convert {
  if (DataType.isNull(type)) return (value) => misfit(value, 'null');
  if (DataType.isBool(type)) return toBool;
  if (DataType.isInt(type)) return toInteger(type);
  if (DataType.isFloat(type)) return toFloat;
  if (DataType.isDecimal(type)) return (value) => toDecimal(value, type);
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return toText;
  if (DataType.isBinary(type) || DataType.isLargeBinary(type)) return (value) => toBytes(value, undefined);
  if (DataType.isFixedSizeBinary(type)) return (value) => toBytes(value, type.byteWidth);
  if (DataType.isDictionary(type)) return valueConverter(type.dictionary);
  return timeConverter(type) ?? nestedConverter(type);
}

function timeConverter(type: DataType): Convert | undefined {
  if (DataType.isDate(type)) return type.unit === DateUnit.DAY ? toDay : (value) => BigInt(toDay(value)) * 86_400_000n;
  if (DataType.isTimestamp(type)) {
    return (value) => {
      const moment = typeof value === 'string' ? parseMoment(value.trim()) : undefined;
      const count = moment === undefined ? undefined : toUnits(moment.seconds, moment.nanoseconds, type.unit);
      return (
        count ?? integerOf(value) ?? misfit(value, 'a moment such as 2024-05-06T07:08:09Z in the unit of the column')
      );
    };
  }
  if (DataType.isTime(type)) {
    return (value) => {
      const count = typeof value === 'string' ? parseClock(value.trim(), type.unit) : integerOf(value);
      return count ?? misfit(value, 'a time such as 07:08:09');
    };
  }
  if (DataType.isDuration(type)) return (value) => integerOf(value) ?? misfit(value, 'a count of the unit');
  return undefined;
}

function nestedConverter(type: DataType): Convert {
  if (DataType.isFixedSizeList(type)) return toFixedList(type);
  if (DataType.isList(type)) {
    const item = converterFor(type.valueType);
    return (value) => requireArray(fromJsonText(value)).map((each) => item(each));
  }
  if (DataType.isStruct(type)) return toStruct(type);
  if (DataType.isMap(type)) {
    const [key, value] = [converterFor(type.keyType), converterFor(type.valueType)];
    return (given) =>
      entriesOf(fromJsonText(given)).map((entry) => ({ key: key(entry.key), value: value(entry.value) }));
  }
  throw new ConversionError('The type cannot be read from text.');
}

function toBool(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  const word = typeof value === 'string' ? value.trim().toLowerCase() : '';
  if (word === 'true' || word === 't' || word === 'yes' || value === 1 || word === '1') return true;
  if (word === 'false' || word === 'f' || word === 'no' || value === 0 || word === '0') return false;
  return misfit(value, 'true or false');
}

function toInteger(type: Int): Convert {
  const [low, high] = type.isSigned
    ? [-(2n ** BigInt(type.bitWidth - 1)), 2n ** BigInt(type.bitWidth - 1) - 1n]
    : [0n, 2n ** BigInt(type.bitWidth) - 1n];
  const [lowNumber, highNumber] = [Number(low), Number(high)];
  const isWide = type.bitWidth === 64;
  return (value) => {
    const number = typeof value === 'number' ? value : shortInteger(value);
    if (number !== undefined && Number.isSafeInteger(number) && number >= lowNumber && number <= highNumber)
      return number;
    const integer = integerOf(value);
    if (integer === undefined || integer < low || integer > high)
      return misfit(value, `an integer from ${low} to ${high}`);
    return isWide ? integer : Number(integer);
  };
}

/** The usual case, without the cost of a bigint. */
function shortInteger(value: unknown): number | undefined {
  if (typeof value !== 'string' || value.length > 15 || !INTEGER.test(value)) return undefined;
  return Number(value);
}

const INTEGER = /^\s*[+-]?\d+\s*$/;

function integerOf(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : undefined;
  const text = value instanceof LosslessNumber ? value.text : value;
  if (typeof text !== 'string' || text.length > 80 || !INTEGER.test(text)) return undefined;
  return BigInt(text.trim().replace('+', ''));
}

const FLOAT = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const SPECIAL_FLOATS: Readonly<Record<string, number>> = {
  nan: Number.NaN,
  inf: Infinity,
  '+inf': Infinity,
  '-inf': -Infinity,
  infinity: Infinity,
  '+infinity': Infinity,
  '-infinity': -Infinity,
};

export function parseFloatText(text: string): number | undefined {
  if (FLOAT.test(text)) return Number(text);
  const word = text.toLowerCase();
  return Object.hasOwn(SPECIAL_FLOATS, word) ? SPECIAL_FLOATS[word] : undefined;
}

function toFloat(value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof LosslessNumber) return Number(value.text);
  const number = typeof value === 'string' ? parseFloatText(value.trim()) : undefined;
  return number ?? misfit(value, 'a number');
}

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?$/;

function toDecimal(value: unknown, type: Decimal): bigint {
  const text = value instanceof LosslessNumber ? value.text : String(value).trim();
  const match = DECIMAL.exec(text);
  const [, sign = '', whole = '', fraction = ''] = match ?? [];
  const wanted = `a number with at most ${type.precision} digits, ${type.scale} of them behind the point`;
  if (match === null || whole + fraction === '' || fraction.length > Math.max(type.scale, 0))
    return misfit(value, wanted);
  const digits = BigInt(`${whole}${fraction.padEnd(Math.max(type.scale, 0), '0')}`);
  const unscaled = type.scale < 0 ? digits / 10n ** BigInt(-type.scale) : digits;
  if (unscaled >= 10n ** BigInt(type.precision)) return misfit(value, wanted);
  return sign === '-' ? -unscaled : unscaled;
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof LosslessNumber) return value.text;
  if (typeof value === 'object')
    return JSON.stringify(value, (_, part: unknown) => (part instanceof LosslessNumber ? part.text : part));
  return `${typeof value === 'number' || typeof value === 'bigint' ? value : value === true}`;
}

function toBytes(value: unknown, length: number | undefined): Uint8Array {
  const bytes = value instanceof Uint8Array ? value : typeof value === 'string' ? fromBase64(value) : undefined;
  if (bytes === undefined) return misfit(value, 'bytes in base64');
  if (length !== undefined && bytes.length !== length) return misfit(value, `${length} bytes in base64`);
  return bytes;
}

function toDay(value: unknown): number {
  const text = typeof value === 'string' ? value.trim() : undefined;
  const days = text === undefined ? undefined : (parseDay(text) ?? dayOfMidnight(text));
  if (days !== undefined) return days;
  return typeof value === 'number' && Number.isInteger(value) ? value : misfit(value, 'a day such as 2024-05-06');
}

function dayOfMidnight(text: string): number | undefined {
  const moment = parseMoment(text);
  if (moment === undefined || moment.nanoseconds !== 0n || moment.seconds % 86_400n !== 0n) return undefined;
  return Number(moment.seconds / 86_400n);
}

function toFixedList(type: FixedSizeList): Convert {
  const item = converterFor(type.valueType);
  return (value) => {
    const items = requireArray(fromJsonText(value));
    if (items.length !== type.listSize) {
      throw new ConversionError(`has ${items.length} values where ${type.listSize} are wanted`);
    }
    return items.map((each) => item(each));
  };
}

function toStruct(type: Struct): Convert {
  const converters = new Map(type.children.map((child) => [child.name, converterFor(child.type)]));
  return (given) => {
    const value = fromJsonText(given);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return misfit(given, 'an object');
    const entries = Object.entries(value).map(([name, part]: [string, unknown]) => {
      const convert = converters.get(name);
      if (convert === undefined) throw new ConversionError(`has a field ${JSON.stringify(name)} that its type has not`);
      return [name, convert(part)] as const;
    });
    return Object.fromEntries(entries);
  };
}

/** Lists and objects stand in a CSV file as JSON. */
function fromJsonText(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return parseLongJson(value);
  } catch {
    return misfit(value, 'JSON');
  }
}

function requireArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : misfit(value, 'a list');
}

function entriesOf(value: unknown): readonly { readonly key: unknown; readonly value: unknown }[] {
  if (typeof value !== 'object' || value === null) return misfit(value, 'an object');
  if (!Array.isArray(value))
    return Object.entries(value).map(([key, part]: [string, unknown]) => ({ key, value: part }));
  return value.map((entry: unknown) => {
    if (typeof entry !== 'object' || entry === null || !('key' in entry))
      return misfit(entry, '{"key": …, "value": …}');
    return { key: entry.key, value: 'value' in entry ? entry.value : null };
  });
}

const SHOWN_CHARACTERS = 60;

function misfit(value: unknown, wanted: string): never {
  const text = typeof value === 'string' ? value : toText(value);
  const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
  throw new ConversionError(`is ${JSON.stringify(shown)}, and should be ${wanted}`);
}
