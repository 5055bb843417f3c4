import { DataType, Precision, TimeUnit } from 'apache-arrow';
import type { Field, Int, Schema } from 'apache-arrow';
import type { SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { invalidInput } from '../../errors/service-error.ts';
import { toSchemaBytes } from '../arrow/arrow-stream.ts';
import type { Batches } from '../format.ts';
import { toBase64, valuesOf } from '../types/values-of.ts';
import { toParquet } from './parquet-values.ts';

/** Rows of a row group; batches are collected until then. */
const GROUP_ROWS = 65_536;

/** The Arrow schema is kept beside the Parquet one, as by other writers of the Arrow family. */
export async function* writeParquet(schema: Schema, batches: Batches): AsyncGenerator<Uint8Array> {
  const elements = schema.fields.flatMap(toElements);
  const writer = new ByteWriter();
  const file = new ParquetWriter({
    writer,
    schema: [{ name: 'schema', num_children: schema.fields.length }, ...elements],
    kvMetadata: [{ key: 'ARROW:schema', value: toBase64(toSchemaBytes(schema)) }],
  });
  const convert = schema.fields.map(({ type }) => toParquet(type));
  let columns: unknown[][] = schema.fields.map(() => []);
  let rows = 0;
  const takeBytes = (): Uint8Array => {
    const bytes = writer.getBytes().slice();
    writer.index = 0;
    return bytes;
  };
  const closeGroup = (): void => {
    const columnData = schema.fields.map(({ name }, index) => ({ name, data: columns[index] ?? [] }));
    // The writer returns a promise only when its bytes go elsewhere; these stay in memory until they are taken.
    void file.write({ columnData, rowGroupSize: GROUP_ROWS });
    columns = schema.fields.map(() => []);
    rows = 0;
  };
  for await (const batch of batches) {
    for (const [index, data] of batch.data.children.entries()) {
      const column = columns[index];
      for (const value of valuesOf(data)) column?.push(convert[index]?.(value));
    }
    rows += batch.numRows;
    if (rows < GROUP_ROWS) continue;
    closeGroup();
    yield takeBytes();
  }
  if (rows > 0) closeGroup();
  void file.finish();
  yield takeBytes();
}

/** The elements of a Parquet schema for an Arrow field, parents before children. */
function toElements({ name, type, nullable }: Field): readonly SchemaElement[] {
  const element: SchemaElement = { name, repetition_type: nullable ? 'OPTIONAL' : 'REQUIRED' };
  if (DataType.isList(type) || DataType.isFixedSizeList(type)) {
    const [item] = type.children;
    if (item === undefined) return refuseColumn(name);
    return [{ ...element, num_children: 1, converted_type: 'LIST' }, ...repeated('list', { element: item })];
  }
  if (DataType.isMap(type)) {
    const [key, value] = type.children[0]?.type.children ?? [];
    if (key === undefined || value === undefined) return refuseColumn(name);
    return [{ ...element, num_children: 1, converted_type: 'MAP' }, ...repeated('key_value', { key, value })];
  }
  if (DataType.isStruct(type) && type.children.length > 0) {
    return [{ ...element, num_children: type.children.length }, ...type.children.flatMap(toElements)];
  }
  const leaf = leafType(DataType.isDictionary(type) ? type.dictionary : type);
  if (leaf === undefined) return refuseColumn(name);
  return [{ ...element, ...leaf }];
}

function repeated(name: string, children: Readonly<Record<string, Field>>): readonly SchemaElement[] {
  const fields = Object.entries(children).map(([child, field]) => field.clone({ name: child }));
  return [{ name, repetition_type: 'REPEATED', num_children: fields.length }, ...fields.flatMap(toElements)];
}

function leafType(type: DataType): Partial<SchemaElement> | undefined {
  if (DataType.isBool(type)) return { type: 'BOOLEAN' };
  if (DataType.isInt(type)) return integer(type);
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

/** Signed integers of 32 and 64 bits are Parquet's own types. */
function integer({ bitWidth, isSigned }: Int): Partial<SchemaElement> {
  const type = bitWidth === 64 ? 'INT64' : 'INT32';
  return isSigned && bitWidth >= 32 ? { type } : { type, converted_type: `${isSigned ? '' : 'U'}INT_${bitWidth}` };
}

function time(unit: TimeUnit): Partial<SchemaElement> {
  if (unit === TimeUnit.NANOSECOND) {
    return { type: 'INT64', logical_type: { type: 'TIME', isAdjustedToUTC: false, unit: 'NANOS' } };
  }
  if (unit === TimeUnit.MICROSECOND) return { type: 'INT64', converted_type: 'TIME_MICROS' };
  return { type: 'INT32', converted_type: 'TIME_MILLIS' };
}

function timestamp(unit: TimeUnit, hasZone: boolean): Partial<SchemaElement> {
  const name = unit === TimeUnit.NANOSECOND ? 'NANOS' : unit === TimeUnit.MICROSECOND ? 'MICROS' : 'MILLIS';
  return { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: hasZone, unit: name } };
}

function refuseColumn(name: string): never {
  const hint = 'Leave the column out, or write Arrow.';
  throw invalidInput(`The column "${name}" has a type that Parquet cannot hold.`, hint);
}
