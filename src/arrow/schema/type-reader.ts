import type { DataType, Field, IntType, TimeUnit } from '../../model/schema.ts';
import type { Flatbuffer } from '../format/flatbuffer.ts';

/** A type's tag and table in the format's Schema.fbs, and its children, already read. */
export interface TypeParts {
  readonly tag: number;
  readonly table: number;
  readonly children: readonly Field[];
}

export function readType(flatbuffer: Flatbuffer, parts: TypeParts): DataType {
  const { tag, table, children } = parts;
  const readNested = NESTED_TYPES[tag];
  if (readNested !== undefined) return readNested(flatbuffer, parts);
  const read = PLAIN_TYPES[tag] ?? flatbuffer.refuse(`has a column of the unknown Arrow type ${tag}`);
  if (children.length > 0) flatbuffer.refuse('has a column of a plain type with children');
  return read(flatbuffer, table);
}

/** By the tags of the union `Type` in Schema.fbs. */
const PLAIN_TYPES: Readonly<Record<number, (flatbuffer: Flatbuffer, table: number) => DataType>> = {
  1: () => ({ kind: 'null' }),
  2: readIntType,
  3: readFloat,
  4: () => ({ kind: 'binary', layout: 'plain' }),
  5: () => ({ kind: 'utf8', layout: 'plain' }),
  6: () => ({ kind: 'bool' }),
  7: readDecimal,
  8: readDate,
  9: readTime,
  10: (flatbuffer, table) => {
    return { kind: 'timestamp', unit: readTimeUnit(flatbuffer, table, 0), timezone: flatbuffer.textField(table, 1) };
  },
  11: readInterval,
  15: readFixedSizeBinary,
  18: (flatbuffer, table) => ({ kind: 'duration', unit: readTimeUnit(flatbuffer, table, 1) }),
  19: () => ({ kind: 'binary', layout: 'large' }),
  20: () => ({ kind: 'utf8', layout: 'large' }),
  23: () => ({ kind: 'binary', layout: 'view' }),
  24: () => ({ kind: 'utf8', layout: 'view' }),
};

const NESTED_TYPES: Readonly<Record<number, (flatbuffer: Flatbuffer, parts: TypeParts) => DataType>> = {
  12: (flatbuffer, parts) => ({ kind: 'list', layout: 'plain', item: onlyChild(flatbuffer, parts) }),
  13: (_flatbuffer, { children }) => ({ kind: 'struct', children }),
  14: (_flatbuffer, { children }) => ({ kind: 'union', children }),
  16: readFixedSizeList,
  17: readMap,
  21: (flatbuffer, parts) => ({ kind: 'list', layout: 'large', item: onlyChild(flatbuffer, parts) }),
  22: (_flatbuffer, { children }) => ({ kind: 'run-end-encoded', children }),
  25: (flatbuffer, parts) => ({ kind: 'list', layout: 'view', item: onlyChild(flatbuffer, parts) }),
  26: (flatbuffer, parts) => ({ kind: 'list', layout: 'large-view', item: onlyChild(flatbuffer, parts) }),
};

const FLOAT_BITS = [16, 32, 64] as const;
const TIME_UNITS: readonly TimeUnit[] = ['s', 'ms', 'us', 'ns'];
const DECIMAL_DIGITS: Readonly<Record<number, number>> = { 32: 9, 64: 18, 128: 38, 256: 76 };
const INTERVAL_UNITS = ['year-month', 'day-time', 'month-day-nano'] as const;

export function readIntType(flatbuffer: Flatbuffer, table: number): IntType {
  const bits = flatbuffer.i32Field(table, 0);
  const signed = flatbuffer.u8Field(table, 1) !== 0;
  if (bits === 8 || bits === 16 || bits === 32 || bits === 64) return { kind: 'int', bits, signed };
  return flatbuffer.refuse(`has an integer column of ${bits} bits`, 'Integers must have 8, 16, 32 or 64 bits.');
}

function readFloat(flatbuffer: Flatbuffer, table: number): DataType {
  const precision = flatbuffer.i16Field(table, 0);
  const bits = FLOAT_BITS[precision];
  if (bits !== undefined) return { kind: 'float', bits };
  const hint = 'The precision must be half, single or double.';
  return flatbuffer.refuse(`has a float column of the unknown precision ${precision}`, hint);
}

/** The engine reads precision and scale as single bytes, and crashes the worker process if they are not. */
function readDecimal(flatbuffer: Flatbuffer, table: number): DataType {
  const precision = flatbuffer.i32Field(table, 0);
  const scale = flatbuffer.i32Field(table, 1);
  const bits = flatbuffer.i32Field(table, 2, 128);
  const hasWidth = bits === 32 || bits === 64 || bits === 128 || bits === 256;
  if (!hasWidth || precision < 1 || precision > (DECIMAL_DIGITS[bits] ?? 0) || scale < -128 || scale > precision) {
    return flatbuffer.refuse(
      `has a decimal column of ${bits} bits, precision ${precision} and scale ${scale}`,
      'The precision must be 1 to 38 for 128 bits and 1 to 76 for 256 bits; the scale must not exceed it.',
    );
  }
  return { kind: 'decimal', bits, precision, scale };
}

function readDate(flatbuffer: Flatbuffer, table: number): DataType {
  const unit = flatbuffer.i16Field(table, 0, 1);
  if (unit === 0) return { kind: 'date', unit: 'day' };
  if (unit === 1) return { kind: 'date', unit: 'ms' };
  return flatbuffer.refuse(`has a date column of the unknown unit ${unit}`, 'Dates must be in days or milliseconds.');
}

function readTime(flatbuffer: Flatbuffer, table: number): DataType {
  const unit = readTimeUnit(flatbuffer, table, 1);
  const bits = flatbuffer.i32Field(table, 1, 32);
  if (bits === 32 && (unit === 's' || unit === 'ms')) return { kind: 'time', bits, unit };
  if (bits === 64 && (unit === 'us' || unit === 'ns')) return { kind: 'time', bits, unit };
  const hint = 'Seconds and milliseconds need 32 bits, microseconds and nanoseconds 64.';
  return flatbuffer.refuse(`has a time column of ${bits} bits in ${unit}`, hint);
}

function readInterval(flatbuffer: Flatbuffer, table: number): DataType {
  const number = flatbuffer.i16Field(table, 0);
  const unit = INTERVAL_UNITS[number];
  if (unit !== undefined) return { kind: 'interval', unit };
  const hint = 'The unit must be year-month, day-time or month-day-nano.';
  return flatbuffer.refuse(`has an interval column of the unknown unit ${number}`, hint);
}

function readFixedSizeBinary(flatbuffer: Flatbuffer, table: number): DataType {
  const bytes = flatbuffer.i32Field(table, 0);
  if (bytes < 0) flatbuffer.refuse(`has a fixed-size binary column of ${bytes} bytes`);
  return { kind: 'fixed-size-binary', bytes };
}

function readFixedSizeList(flatbuffer: Flatbuffer, parts: TypeParts): DataType {
  const length = flatbuffer.i32Field(parts.table, 0);
  if (length < 0) flatbuffer.refuse(`has a fixed-size list column of ${length} items`);
  return { kind: 'fixed-size-list', length, item: onlyChild(flatbuffer, parts) };
}

function readMap(flatbuffer: Flatbuffer, parts: TypeParts): DataType {
  const entries = onlyChild(flatbuffer, parts);
  if (entries.type.kind !== 'struct' || entries.type.children.length !== 2) {
    flatbuffer.refuse('has a map column whose entries are not a struct of key and value');
  }
  return { kind: 'map', entries, keysSorted: flatbuffer.u8Field(parts.table, 0) !== 0 };
}

function readTimeUnit(flatbuffer: Flatbuffer, table: number, missing: number): TimeUnit {
  const unit = flatbuffer.i16Field(table, 0, missing);
  const hint = 'The unit must be seconds, milliseconds, microseconds or nanoseconds.';
  return TIME_UNITS[unit] ?? flatbuffer.refuse(`has a column of the unknown time unit ${unit}`, hint);
}

function onlyChild(flatbuffer: Flatbuffer, { children }: TypeParts): Field {
  const [child] = children;
  if (child !== undefined && children.length === 1) return child;
  return flatbuffer.refuse(`has a list or map column with ${children.length} children`, 'It must have exactly one.');
}
