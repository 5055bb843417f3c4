import { DataType, DateUnit, Precision, TimeUnit, util } from 'apache-arrow';
import { toBigInt } from '../types/build-data.ts';
import { MILLISECONDS_PER_DAY } from '../types/times.ts';
import { deepConverter } from '../types/values-of.ts';
import type { Convert } from '../types/values-of.ts';

/** From what the Parquet reader returns, unconverted, to the forms that `buildData` takes. */
export function fromParquet(type: DataType): Convert {
  return deepConverter(type, readerFor);
}

/** From the forms of `valuesOf` to what the Parquet writer takes. */
export function toParquet(type: DataType): Convert {
  return deepConverter(type, writerFor);
}

function readerFor(type: DataType): Convert | undefined {
  if (DataType.isInt(type) && !type.isSigned) return (value) => toUnsigned(value, type.bitWidth);
  if (DataType.isDecimal(type)) return toUnscaled;
  if (DataType.isFloat(type) && type.precision === Precision.HALF) {
    return (value) =>
      value instanceof Uint8Array ? util.uint16ToFloat64((value[0] ?? 0) | ((value[1] ?? 0) << 8)) : value;
  }
  return DataType.isMap(type) ? toEntries(type.keyType, type.valueType) : undefined;
}

function writerFor(type: DataType): Convert | undefined {
  if (DataType.isInt(type)) return type.bitWidth === 64 ? (value) => BigInt.asIntN(64, toBigInt(value)) : Number;
  if (DataType.isTimestamp(type)) {
    return type.unit === TimeUnit.SECOND ? (value) => toBigInt(value) * 1000n : toBigInt;
  }
  if (DataType.isTime(type) && type.bitWidth === 32) {
    return type.unit === TimeUnit.SECOND ? (value) => Number(value) * 1000 : Number;
  }
  if (DataType.isTime(type) || DataType.isDuration(type)) return toBigInt;
  if (DataType.isDate(type) && type.unit === DateUnit.MILLISECOND) {
    return (value) => Math.floor(Number(value) / MILLISECONDS_PER_DAY);
  }
  return undefined;
}

function toUnsigned(value: unknown, bits: number): unknown {
  if (typeof value === 'bigint') return BigInt.asUintN(64, value);
  return bits === 64 ? value : Number(value) >>> 0;
}

/** Decimals are integers, or bytes with the highest first. */
function toUnscaled(value: unknown): unknown {
  if (!(value instanceof Uint8Array)) return typeof value === 'number' ? BigInt(value) : value;
  let unscaled = 0n;
  for (const byte of value) unscaled = (unscaled << 8n) | BigInt(byte);
  return BigInt.asIntN(value.length * 8, unscaled);
}

/** The Parquet reader returns a map as an object, whose keys have become texts. */
function toEntries(key: DataType, value: DataType): Convert {
  const readKey = keyReader(key);
  const readValue = fromParquet(value);
  return (given) =>
    Object.entries(typeof given === 'object' && given !== null ? given : {}).map(([name, part]: [string, unknown]) => {
      return { key: readKey(name), value: readValue(part) };
    });
}

function keyReader(key: DataType): (text: string) => unknown {
  if (DataType.isUtf8(key) || DataType.isLargeUtf8(key)) return (text) => text;
  if (DataType.isInt(key) && key.bitWidth === 64) return BigInt;
  return DataType.isBool(key) ? (text) => text === 'true' : Number;
}
