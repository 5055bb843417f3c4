import { DataType, Precision } from 'apache-arrow';

/** From what the Parquet reader gives, unconverted, to the forms that `buildData` takes. */
export function fromParquet(type: DataType): (value: unknown) => unknown {
  const read = readerFor(type);
  return (value) => (value === null || value === undefined ? null : read(value));
}

function readerFor(type: DataType): (value: unknown) => unknown {
  if (DataType.isInt(type) && !type.isSigned) return (value) => toUnsigned(value, type.bitWidth);
  if (DataType.isDecimal(type)) return toUnscaled;
  if (DataType.isFloat(type) && type.precision === Precision.HALF) return toHalf;
  if (DataType.isDictionary(type)) return fromParquet(type.dictionary);
  if (DataType.isList(type) || DataType.isFixedSizeList(type)) {
    const item = fromParquet(type.valueType);
    return (value) => (isArrayLike(value) ? Array.from(value, item) : null);
  }
  if (DataType.isMap(type)) return toEntries(type.keyType, type.valueType);
  if (DataType.isStruct(type)) {
    const readers = type.children.map(({ name, type: child }) => [name, fromParquet(child)] as const);
    return (value) => Object.fromEntries(readers.map(([name, read]) => [name, read(partOf(value, name))]));
  }
  return (value) => value;
}

function toUnsigned(value: unknown, bits: number): unknown {
  if (typeof value === 'bigint') return BigInt.asUintN(64, value);
  return bits === 64 ? value : Number(value) >>> 0;
}

/** Decimals stand as integers or as bytes with the highest in front. */
function toUnscaled(value: unknown): unknown {
  if (!(value instanceof Uint8Array)) return typeof value === 'number' ? BigInt(value) : value;
  let unscaled = 0n;
  for (const byte of value) unscaled = (unscaled << 8n) | BigInt(byte);
  return BigInt.asIntN(value.length * 8, unscaled);
}

function toHalf(value: unknown): unknown {
  if (!(value instanceof Uint8Array)) return value;
  const bits = (value[0] ?? 0) | ((value[1] ?? 0) << 8);
  const [exponent, fraction] = [(bits >> 10) & 0x1f, bits & 0x3ff];
  const sign = bits >> 15 === 0 ? 1 : -1;
  if (exponent === 0) return sign * 2 ** -14 * (fraction / 1024);
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : Number.NaN;
  return sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
}

/** The Parquet reader makes an object of a map, whose keys have become texts. */
function toEntries(key: DataType, value: DataType): (given: unknown) => unknown {
  const readKey = DataType.isUtf8(key) || DataType.isLargeUtf8(key) ? (text: string) => text : keyReader(key);
  const readValue = fromParquet(value);
  return (given) =>
    Object.entries(toObject(given)).map(([name, part]: [string, unknown]) => ({
      key: readKey(name),
      value: readValue(part),
    }));
}

function keyReader(key: DataType): (text: string) => unknown {
  if (DataType.isInt(key) && key.bitWidth === 64) return BigInt;
  return DataType.isBool(key) ? (text) => text === 'true' : Number;
}

function toObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}

function partOf(value: unknown, name: string): unknown {
  return Object.getOwnPropertyDescriptor(toObject(value), name)?.value;
}

function isArrayLike(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}
