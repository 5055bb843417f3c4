import * as arrow from 'apache-arrow';
import { DataType, Field, TimeUnit } from 'apache-arrow';
import type { SchemaElement, SchemaTree } from 'hyparquet';
import { invalidInput } from '../../errors/service-error.ts';
import { listOf, mapOf } from '../types/type-text.ts';

export function toField(tree: SchemaTree, name = tree.element.name): Field {
  return new Field(name, toType(tree), tree.element.repetition_type !== 'REQUIRED');
}

function toType(tree: SchemaTree): DataType {
  const { element, children } = tree;
  const [group] = children;
  if (element.converted_type === 'LIST' && group !== undefined && children.length === 1) {
    return new arrow.List(itemField(group));
  }
  if (element.converted_type === 'MAP' && group?.children.length === 2) {
    const [key, value] = group.children;
    if (key !== undefined && value !== undefined) return mapOf(toType(key), toType(value));
  }
  const type = valueType(tree);
  // A repeated field without a list around it, as old writers have them.
  return element.repetition_type === 'REPEATED' ? listOf(type, false) : type;
}

/** The item of a list: the element inside the repeated group, or the repeated field itself. */
function itemField(group: SchemaTree): Field {
  const [inner] = group.children;
  const item = inner !== undefined && group.children.length === 1 ? inner : group;
  return item.element.repetition_type === 'REPEATED'
    ? new Field('item', valueType(item), false)
    : toField(item, 'item');
}

function valueType({ element, children }: SchemaTree): DataType {
  return children.length > 0 ? new arrow.Struct(children.map((child) => toField(child))) : leafType(element);
}

function leafType(element: SchemaElement): DataType {
  switch (element.type) {
    case 'BOOLEAN':
      return new arrow.Bool();
    case 'INT32':
      return int32Type(element);
    case 'INT64':
      return int64Type(element);
    case 'INT96':
      return new arrow.Timestamp(TimeUnit.NANOSECOND);
    case 'FLOAT':
      return new arrow.Float(arrow.Precision.SINGLE);
    case 'DOUBLE':
      return new arrow.Float(arrow.Precision.DOUBLE);
    case 'BYTE_ARRAY':
      return decimalType(element) ?? (isText(element) ? new arrow.Utf8() : new arrow.Binary());
    case 'FIXED_LEN_BYTE_ARRAY':
      if (element.logical_type?.type === 'FLOAT16') return new arrow.Float(arrow.Precision.HALF);
      return decimalType(element) ?? new arrow.FixedSizeBinary(element.type_length ?? 0);
    default: {
      const sentence = `The column "${element.name}" of the Parquet file has a type that is not read here.`;
      throw invalidInput(sentence, 'Leave the column out.');
    }
  }
}

export function isText({ converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  return ['UTF8', 'ENUM', 'JSON'].includes(converted ?? '') || ['STRING', 'ENUM', 'JSON'].includes(logical?.type ?? '');
}

function int32Type(element: SchemaElement): DataType {
  const { converted_type: converted, logical_type: logical } = element;
  if (converted === 'DATE' || logical?.type === 'DATE') return new arrow.Date_(arrow.DateUnit.DAY);
  if (converted === 'TIME_MILLIS' || logical?.type === 'TIME') return new arrow.Time(TimeUnit.MILLISECOND, 32);
  return decimalType(element) ?? integerType(element, 32);
}

const UNITS = { MILLIS: TimeUnit.MILLISECOND, MICROS: TimeUnit.MICROSECOND, NANOS: TimeUnit.NANOSECOND } as const;

function int64Type(element: SchemaElement): DataType {
  const { converted_type: converted, logical_type: logical } = element;
  if (logical?.type === 'TIMESTAMP') {
    return new arrow.Timestamp(UNITS[logical.unit], logical.isAdjustedToUTC ? 'UTC' : null);
  }
  if (converted === 'TIMESTAMP_MILLIS') return new arrow.Timestamp(TimeUnit.MILLISECOND, 'UTC');
  if (converted === 'TIMESTAMP_MICROS') return new arrow.Timestamp(TimeUnit.MICROSECOND, 'UTC');
  if (logical?.type === 'TIME') return new arrow.Time(UNITS[logical.unit], 64);
  if (converted === 'TIME_MICROS') return new arrow.Time(TimeUnit.MICROSECOND, 64);
  return decimalType(element) ?? integerType(element, 64);
}

function integerType({ converted_type: converted, logical_type: logical }: SchemaElement, physical: 32 | 64): DataType {
  if (logical?.type === 'INTEGER') return new arrow.Int(logical.isSigned, toBits(logical.bitWidth, physical));
  const match = /^(U?)INT_(8|16|32|64)$/.exec(converted ?? '');
  const bits = match === null ? physical : toBits(Number(match[2]), physical);
  return new arrow.Int(match?.[1] !== 'U', bits);
}

function toBits(bits: number, otherwise: 32 | 64): 8 | 16 | 32 | 64 {
  return bits === 8 || bits === 16 || bits === 32 || bits === 64 ? bits : otherwise;
}

function decimalType(element: SchemaElement): DataType | undefined {
  const { converted_type: converted, logical_type: logical } = element;
  if (logical?.type !== 'DECIMAL' && converted !== 'DECIMAL') return undefined;
  const { precision = 38, scale = 0 } = logical?.type === 'DECIMAL' ? logical : element;
  return new arrow.Decimal(scale, precision, precision <= 38 ? 128 : 256);
}

/**
 * Writers of the Arrow family keep the Arrow type beside the Parquet one, which has neither vectors nor large text. It is
 * used where the values fit it.
 */
export function fitsArrow(parquet: DataType, type: DataType): boolean {
  if (DataType.isDictionary(type)) return false;
  if (DataType.isFixedSizeList(type)) return DataType.isList(parquet) && fitsArrow(parquet.valueType, type.valueType);
  if (DataType.isLargeUtf8(type)) return DataType.isUtf8(parquet);
  if (DataType.isLargeBinary(type)) return DataType.isBinary(parquet);
  if (DataType.isFloat(type)) return DataType.isFloat(parquet);
  if (DataType.isInt(type)) return DataType.isInt(parquet) && parquet.bitWidth >= type.bitWidth;
  if (DataType.isTimestamp(type)) return DataType.isTimestamp(parquet) && parquet.unit === type.unit;
  if (DataType.isDuration(type)) return DataType.isInt(parquet) && parquet.bitWidth === 64;
  if (DataType.isDecimal(type)) return DataType.isDecimal(parquet) && parquet.scale === type.scale;
  if (DataType.isDate(type)) return DataType.isDate(parquet) && parquet.unit === type.unit;
  if (DataType.isTime(type)) return DataType.isTime(parquet) && parquet.unit === type.unit;
  if (DataType.isNull(type)) return true;
  const children: readonly Field[] = parquet.children ?? [];
  const arrowChildren: readonly Field[] = type.children ?? [];
  if (parquet.typeId !== type.typeId || children.length !== arrowChildren.length) return false;
  return arrowChildren.every((child, index) => fitsArrow(children[index]?.type ?? child.type, child.type));
}
