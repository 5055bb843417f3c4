import { DataType, DateUnit, Precision, TimeUnit } from 'apache-arrow';
import type { Field } from 'apache-arrow';
import type { SchemaElement } from 'hyparquet';
import { ServiceError } from '../../errors/service-error.ts';

/** The elements of a Parquet schema for an Arrow field, parents before children. */
export function toElements({ name, type, nullable }: Field): readonly SchemaElement[] {
  const repetition = nullable ? 'OPTIONAL' : 'REQUIRED';
  if (DataType.isDictionary(type)) return [leaf(name, type.dictionary, repetition)];
  if (DataType.isList(type) || DataType.isFixedSizeList(type)) {
    const [item] = type.children;
    const list: SchemaElement = { name: 'list', repetition_type: 'REPEATED', num_children: 1 };
    if (item === undefined) throw unwritable(name);
    return [group(name, repetition, { num_children: 1, converted_type: 'LIST' }), list, ...named(item, 'element')];
  }
  if (DataType.isMap(type)) {
    const [key, value] = type.children[0]?.type.children ?? [];
    const entries: SchemaElement = { name: 'key_value', repetition_type: 'REPEATED', num_children: 2 };
    if (key === undefined || value === undefined) throw unwritable(name);
    const parts = [...named(key, 'key'), ...named(value, 'value')];
    return [group(name, repetition, { num_children: 1, converted_type: 'MAP' }), entries, ...parts];
  }
  if (!DataType.isStruct(type)) return [leaf(name, type, repetition)];
  if (type.children.length === 0) throw unwritable(name);
  return [group(name, repetition, { num_children: type.children.length }), ...type.children.flatMap(toElements)];
}

/** From the forms of `valuesOf` to what the Parquet writer takes. */
export function toParquet(type: DataType): (value: unknown) => unknown {
  const write = writerFor(type);
  return (value) => (value === null || value === undefined ? null : write(value));
}

function writerFor(type: DataType): (value: unknown) => unknown {
  if (DataType.isDictionary(type)) return toParquet(type.dictionary);
  if (DataType.isInt(type)) return type.bitWidth === 64 ? (value) => BigInt.asIntN(64, toBigInt(value)) : Number;
  if (DataType.isTimestamp(type)) {
    return type.unit === TimeUnit.SECOND ? (value) => toBigInt(value) * 1000n : toBigInt;
  }
  if (DataType.isTime(type)) {
    if (type.bitWidth === 64) return toBigInt;
    return type.unit === TimeUnit.SECOND ? (value) => Number(value) * 1000 : Number;
  }
  if (DataType.isDuration(type)) return toBigInt;
  if (DataType.isDate(type) && type.unit === DateUnit.MILLISECOND)
    return (value) => Math.floor(Number(value) / 86_400_000);
  if (DataType.isList(type) || DataType.isFixedSizeList(type)) {
    const item = toParquet(type.valueType);
    return (value) => (Array.isArray(value) ? value.map(item) : null);
  }
  if (DataType.isMap(type)) {
    const [key, value] = [toParquet(type.keyType), toParquet(type.valueType)];
    return (given) => (Array.isArray(given) ? given.map((entry) => entryOf(entry, key, value)) : null);
  }
  if (DataType.isStruct(type)) {
    const writers = type.children.map((child) => [child.name, toParquet(child.type)] as const);
    return (value) => Object.fromEntries(writers.map(([name, write]) => [name, write(partOf(value, name))]));
  }
  return (value) => value;
}

type Convert = (value: unknown) => unknown;

function entryOf(entry: unknown, key: Convert, value: Convert): object {
  return { key: key(partOf(entry, 'key')), value: value(partOf(entry, 'value')) };
}

function partOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : null;
}

function toBigInt(value: unknown): bigint {
  return typeof value === 'bigint' ? value : BigInt(Number(value));
}

function named(field: Field, name: string): readonly SchemaElement[] {
  return toElements(field.clone({ name }));
}

function group(name: string, repetition: 'OPTIONAL' | 'REQUIRED', rest: Partial<SchemaElement>): SchemaElement {
  return { name, repetition_type: repetition, ...rest };
}

function leaf(name: string, type: DataType, repetition: 'OPTIONAL' | 'REQUIRED'): SchemaElement {
  const found = leafType(type);
  if (found === undefined) throw unwritable(name);
  return { name, repetition_type: repetition, ...found };
}

function leafType(type: DataType): Partial<SchemaElement> | undefined {
  if (DataType.isBool(type)) return { type: 'BOOLEAN' };
  if (DataType.isInt(type)) return integer(type.bitWidth, type.isSigned);
  if (DataType.isFloat(type)) return { type: type.precision === Precision.DOUBLE ? 'DOUBLE' : 'FLOAT' };
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return { type: 'BYTE_ARRAY', converted_type: 'UTF8' };
  if (DataType.isBinary(type) || DataType.isLargeBinary(type) || DataType.isNull(type)) return { type: 'BYTE_ARRAY' };
  if (DataType.isFixedSizeBinary(type)) return { type: 'FIXED_LEN_BYTE_ARRAY', type_length: type.byteWidth };
  if (DataType.isDecimal(type)) {
    const { precision, scale, bitWidth } = type;
    return { type: 'FIXED_LEN_BYTE_ARRAY', type_length: bitWidth / 8, converted_type: 'DECIMAL', precision, scale };
  }
  if (DataType.isDate(type)) return { type: 'INT32', converted_type: 'DATE' };
  if (DataType.isTime(type)) return time(type.unit);
  if (DataType.isTimestamp(type)) return timestamp(type.unit, type.timezone !== null && type.timezone !== undefined);
  return DataType.isDuration(type) ? { type: 'INT64' } : undefined;
}

function integer(bitWidth: number, isSigned: boolean): Partial<SchemaElement> {
  const type = bitWidth === 64 ? 'INT64' : 'INT32';
  if (isSigned && bitWidth >= 32) return { type };
  const names = isSigned
    ? ({ 8: 'INT_8', 16: 'INT_16' } as const)
    : ({ 8: 'UINT_8', 16: 'UINT_16', 32: 'UINT_32', 64: 'UINT_64' } as const);
  const found = Object.entries(names).find(([bits]) => Number(bits) === bitWidth)?.[1];
  return found === undefined ? { type } : { type, converted_type: found };
}

function time(unit: TimeUnit): Partial<SchemaElement> {
  if (unit === TimeUnit.SECOND || unit === TimeUnit.MILLISECOND)
    return { type: 'INT32', converted_type: 'TIME_MILLIS' };
  if (unit === TimeUnit.MICROSECOND) return { type: 'INT64', converted_type: 'TIME_MICROS' };
  return { type: 'INT64', logical_type: { type: 'TIME', isAdjustedToUTC: false, unit: 'NANOS' } };
}

function timestamp(unit: TimeUnit, hasZone: boolean): Partial<SchemaElement> {
  const name = unit === TimeUnit.NANOSECOND ? 'NANOS' : unit === TimeUnit.MICROSECOND ? 'MICROS' : 'MILLIS';
  return { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: hasZone, unit: name } };
}

function unwritable(name: string): ServiceError {
  return new ServiceError('InvalidInput', `The column "${name}" has a type that Parquet cannot hold.`, {
    hint: 'Leave the column out, or write Arrow.',
  });
}
