import {
  Binary,
  Bool,
  DataType,
  Date_,
  DateUnit,
  Decimal,
  Field,
  FixedSizeBinary,
  Float,
  Int,
  List,
  Precision,
  Struct,
  Time,
  TimeUnit,
  Timestamp,
  Utf8,
} from 'apache-arrow';
import type { SchemaElement, SchemaTree } from 'hyparquet';
import { ServiceError } from '../../errors/service-error.ts';
import { mapType } from '../types/type-text.ts';

/** The Arrow field of a column of a Parquet file. */
export function toField(tree: SchemaTree): Field {
  const { element } = tree;
  return new Field(element.name, toType(tree), element.repetition_type !== 'REQUIRED');
}

export function toType(tree: SchemaTree): DataType {
  const { element, children } = tree;
  if (isList(tree)) return new List(itemField(tree));
  if (isMap(tree)) return toMapType(tree);
  if (children.length > 0) return repeated(element, new Struct(children.map(toField)));
  return repeated(element, leafType(element));
}

export function isList({ element, children }: SchemaTree): boolean {
  return element.converted_type === 'LIST' && children.length === 1;
}

export function isMap({ element, children }: SchemaTree): boolean {
  return element.converted_type === 'MAP' && children[0]?.children.length === 2;
}

/** What the reader gives as an item of a list: the element inside the repeated group, or the repeated field itself. */
export function listItem(tree: SchemaTree): SchemaTree {
  const [group] = tree.children;
  if (group === undefined) throw unreadable(tree.element);
  const [inner] = group.children;
  return inner !== undefined && group.children.length === 1 ? inner : group;
}

function itemField(tree: SchemaTree): Field {
  const item = listItem(tree);
  if (item.element.repetition_type !== 'REPEATED')
    return new Field('item', toType(item), item.element.repetition_type !== 'REQUIRED');
  const type = item.children.length > 0 ? new Struct(item.children.map(toField)) : leafType(item.element);
  return new Field('item', type, false);
}

function toMapType(tree: SchemaTree): DataType {
  const [key, value] = tree.children[0]?.children ?? [];
  if (key === undefined || value === undefined) throw unreadable(tree.element);
  return mapType(toType(key), toType(value));
}

/** A repeated field without a list around it, as old writers make them. */
function repeated(element: SchemaElement, type: DataType): DataType {
  return element.repetition_type === 'REPEATED' ? new List(new Field('item', type, false)) : type;
}

function leafType(element: SchemaElement): DataType {
  switch (element.type) {
    case 'BOOLEAN':
      return new Bool();
    case 'INT32':
      return int32Type(element);
    case 'INT64':
      return int64Type(element);
    case 'INT96':
      return new Timestamp(TimeUnit.NANOSECOND);
    case 'FLOAT':
      return new Float(Precision.SINGLE);
    case 'DOUBLE':
      return new Float(Precision.DOUBLE);
    case 'BYTE_ARRAY':
      return decimalType(element) ?? (isText(element) ? new Utf8() : new Binary());
    case 'FIXED_LEN_BYTE_ARRAY':
      if (element.logical_type?.type === 'FLOAT16') return new Float(Precision.HALF);
      return decimalType(element) ?? new FixedSizeBinary(element.type_length ?? 0);
    default:
      throw unreadable(element);
  }
}

export function isText({ converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  return ['UTF8', 'ENUM', 'JSON'].includes(converted ?? '') || ['STRING', 'ENUM', 'JSON'].includes(logical?.type ?? '');
}

function int32Type(element: SchemaElement): DataType {
  const { converted_type: converted, logical_type: logical } = element;
  if (converted === 'DATE' || logical?.type === 'DATE') return new Date_(DateUnit.DAY);
  if (converted === 'TIME_MILLIS' || logical?.type === 'TIME') return new Time(TimeUnit.MILLISECOND, 32);
  return decimalType(element) ?? integerType(element, 32);
}

function int64Type(element: SchemaElement): DataType {
  const { converted_type: converted, logical_type: logical } = element;
  if (logical?.type === 'TIMESTAMP') return new Timestamp(unitOf(logical.unit), logical.isAdjustedToUTC ? 'UTC' : null);
  if (converted === 'TIMESTAMP_MILLIS') return new Timestamp(TimeUnit.MILLISECOND, 'UTC');
  if (converted === 'TIMESTAMP_MICROS') return new Timestamp(TimeUnit.MICROSECOND, 'UTC');
  if (logical?.type === 'TIME') return new Time(unitOf(logical.unit), 64);
  if (converted === 'TIME_MICROS') return new Time(TimeUnit.MICROSECOND, 64);
  return decimalType(element) ?? integerType(element, 64);
}

function integerType({ converted_type: converted, logical_type: logical }: SchemaElement, physical: 32 | 64): DataType {
  if (logical?.type === 'INTEGER') return new Int(logical.isSigned, toBits(logical.bitWidth, physical));
  const match = /^(U?)INT_(8|16|32|64)$/.exec(converted ?? '');
  return match === null ? new Int(true, physical) : new Int(match[1] === '', toBits(Number(match[2]), physical));
}

function toBits(bits: number, otherwise: 32 | 64): 8 | 16 | 32 | 64 {
  return bits === 8 || bits === 16 || bits === 32 || bits === 64 ? bits : otherwise;
}

function decimalType(element: SchemaElement): DataType | undefined {
  const { converted_type: converted, logical_type: logical } = element;
  if (logical?.type === 'DECIMAL') return new Decimal(logical.scale, logical.precision, bitsFor(logical.precision));
  if (converted !== 'DECIMAL') return undefined;
  const precision = element.precision ?? 38;
  return new Decimal(element.scale ?? 0, precision, bitsFor(precision));
}

function bitsFor(precision: number): number {
  return precision <= 38 ? 128 : 256;
}

function unitOf(unit: 'MILLIS' | 'MICROS' | 'NANOS'): TimeUnit {
  return { MILLIS: TimeUnit.MILLISECOND, MICROS: TimeUnit.MICROSECOND, NANOS: TimeUnit.NANOSECOND }[unit];
}

function unreadable(element: SchemaElement): ServiceError {
  return new ServiceError(
    'InvalidInput',
    `The column "${element.name}" of the Parquet file has a type that is not read here.`,
    {
      hint: 'Leave the column out.',
    },
  );
}

/**
 * Writers of the Arrow family keep the Arrow type beside the Parquet one, which knows neither vectors nor large text.
 * It is taken where the values fit it.
 */
export function fitsArrow(parquet: DataType, arrow: DataType): boolean {
  if (DataType.isDictionary(arrow)) return false;
  if (DataType.isFixedSizeList(arrow)) return DataType.isList(parquet) && fitsArrow(parquet.valueType, arrow.valueType);
  if (DataType.isLargeUtf8(arrow)) return DataType.isUtf8(parquet);
  if (DataType.isLargeBinary(arrow)) return DataType.isBinary(parquet);
  if (DataType.isFloat(arrow)) return DataType.isFloat(parquet);
  if (DataType.isInt(arrow)) return DataType.isInt(parquet) && parquet.bitWidth >= arrow.bitWidth;
  if (DataType.isTimestamp(arrow)) return DataType.isTimestamp(parquet) && parquet.unit === arrow.unit;
  if (DataType.isDuration(arrow)) return DataType.isInt(parquet) && parquet.bitWidth === 64;
  if (DataType.isDecimal(arrow)) return DataType.isDecimal(parquet) && parquet.scale === arrow.scale;
  if (DataType.isDate(arrow)) return DataType.isDate(parquet) && parquet.unit === arrow.unit;
  if (DataType.isTime(arrow)) return DataType.isTime(parquet) && parquet.unit === arrow.unit;
  if (DataType.isNull(arrow)) return true;
  return parquet.typeId === arrow.typeId && childrenFit(parquet, arrow);
}

function childrenFit(parquet: DataType, arrow: DataType): boolean {
  const [left, right] = [parquet.children ?? [], arrow.children ?? []];
  return (
    left.length === right.length &&
    left.every((field: Field, index: number) => {
      const other = right[index];
      return other !== undefined && fitsArrow(field.type, other.type);
    })
  );
}
