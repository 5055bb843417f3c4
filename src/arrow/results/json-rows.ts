import { ServiceError } from '../../errors/service-error.ts';
import type { TimeUnit } from '../../model/schema.ts';
import { formatDate, formatDecimal, formatTime, formatTimestamp } from '../../model/value-text.ts';
import { hasBit, readInteger } from '../format/column-layout.ts';
import { readResultSchema } from '../schema/schema-reader.ts';
import { EXTENSION_NAME_KEY } from '../schema/schema-rules.ts';
import { bytesReader, isValid, itemStarts, readColumns, readDictionaryColumn } from './result-columns.ts';
import type { ResultColumn } from './result-columns.ts';
import { dictionaryIdOf, readResultFile, rowsOf } from './result-file.ts';

/** The values of each row, as JSON. */
export function writeValues(file: Buffer): Generator<readonly string[]> {
  return writeRows(file, (columns, dictionaryOf) => {
    const writers = columns.map((column) => jsonWriter(column, dictionaryOf));
    return (row) => writers.map((write) => write(row));
  });
}

export type ToRowWriter<Row> = (columns: readonly ResultColumn[], dictionaryOf: FindDictionary) => (row: number) => Row;

/** Applies the writer that `toWriter` returns for each batch to every row. */
export function* writeRows<Row>(bytes: Buffer, toWriter: ToRowWriter<Row>): Generator<Row> {
  const file = readResultFile(bytes);
  const { schema, dictionaries } = readResultSchema(file.schema);
  const values = new Map<number, ResultColumn>();
  for (const message of file.dictionaries) {
    const id = dictionaryIdOf(message.header);
    values.set(id, readDictionaryColumn(message, dictionaries.valuesOf.get(id)));
  }
  const dictionaryOf = (column: ResultColumn): ResultColumn => {
    const found = values.get(dictionaries.idOf.get(column.type) ?? -1);
    if (found === undefined) throw new ServiceError('Internal', 'A result of the storage engine has no dictionary.');
    return found;
  };
  for (const { header, body } of file.batches) {
    const write = toWriter(readColumns(header, header.table, schema.fields, body), dictionaryOf);
    const rows = rowsOf(header);
    for (let row = 0; row < rows; row += 1) yield write(row);
  }
}

type JsonWriter = (row: number) => string;

/** Values of a dictionary, by the type of the column that uses it. */
export type FindDictionary = (column: ResultColumn) => ResultColumn;

const NULL = 'null';
const UUID_EXTENSION = 'arrow.uuid';
const FRACTION_DIGITS: Readonly<Record<TimeUnit, number>> = { s: 0, ms: 3, us: 6, ns: 9 };

/**
 * How values are written: integers and decimals as numbers with all their digits, numbers that JSON lacks as text
 * (`"NaN"`), bytes in base64, dates and timestamps in ISO 8601, durations as a count of their unit.
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
      return (row) => String(hasBit(values, row));
    case 'int':
      return (row) => String(readInteger(values, row, type));
    case 'float':
      return floatWriter(values, type.bits);
    case 'decimal':
      return (row) => formatDecimal(readWide(values, row, type.bits / 8), type.scale);
    case 'utf8':
    case 'binary':
    case 'fixed-size-binary':
      return bytesWriter(column);
    case 'date':
      return (row) => {
        const isDay = type.unit === 'day';
        const days = isDay ? values.readInt32LE(4 * row) : Number(values.readBigInt64LE(8 * row)) / 86_400_000;
        return quoted(formatDate(Math.floor(days)), Math.floor(days));
      };
    case 'time':
    case 'timestamp':
      return (row) => {
        const bits = type.kind === 'time' ? type.bits : 64;
        const ticks = BigInt(readInteger(values, row, { bits, signed: true }));
        const digits = FRACTION_DIGITS[type.unit];
        if (type.kind === 'time') return quoted(formatTime(ticks, digits), ticks);
        return quoted(formatTimestamp(ticks, digits, type.timezone !== undefined), ticks);
      };
    case 'duration':
      return (row) => String(values.readBigInt64LE(8 * row));
    case 'dictionary': {
      const write = jsonWriter(dictionaryOf(column), dictionaryOf);
      return (row) => write(Number(readInteger(values, row, type.index)));
    }
    case 'struct':
      return structWriter(column.children, dictionaryOf);
    case 'list':
    case 'map':
    case 'fixed-size-list':
      return itemsWriter(column, dictionaryOf);
    default:
      return () => NULL;
  }
}

/** A value without a text form is written as its count. */
function quoted(text: string | undefined, count: number | bigint): string {
  return text === undefined ? String(count) : `"${text}"`;
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

/** IEEE 754 binary16: one sign bit, five exponent bits, ten fraction bits. */
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

function bytesWriter(column: ResultColumn): JsonWriter {
  const { type, field } = column;
  const read = bytesReader(column);
  if (type.kind === 'utf8') return (row) => JSON.stringify(read(row).toString('utf8'));
  const isUuid = type.kind === 'fixed-size-binary' && type.bytes === 16;
  const format = isUuid && field.metadata.get(EXTENSION_NAME_KEY) === UUID_EXTENSION ? formatUuid : formatBase64;
  return (row) => `"${format(read(row))}"`;
}

function formatBase64(bytes: Buffer): string {
  return bytes.toString('base64');
}

function formatUuid(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

export function toKey({ field }: ResultColumn): string {
  return `${JSON.stringify(field.name)}:`;
}

export function structWriter(children: readonly ResultColumn[], dictionaryOf: FindDictionary): JsonWriter {
  const members = children.map((child) => {
    return { key: toKey(child), write: jsonWriter(child, dictionaryOf) };
  });
  return (row) => `{${members.map(({ key, write }) => key + write(row)).join(',')}}`;
}

function itemsWriter(column: ResultColumn, dictionaryOf: FindDictionary): JsonWriter {
  const [item] = column.children;
  const write = item === undefined ? () => NULL : jsonWriter(item, dictionaryOf);
  const startOf = itemStarts(column);
  return (row) => {
    const items: string[] = [];
    const end = startOf(row + 1);
    for (let at = startOf(row); at < end; at += 1) items.push(write(at));
    return `[${items.join(',')}]`;
  };
}
