import { DataType, MessageReader, Schema } from 'apache-arrow';
import type { Data, Field } from 'apache-arrow';
import { parquetMetadataAsync, parquetScan, parquetSchema } from 'hyparquet';
import type { FileMetaData, ParquetScan, SchemaElement } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { invalidInput } from '../../errors/service-error.ts';
import type { PlannedColumn, ReadPlan, Source, SourceBatch } from '../format.ts';
import type { Input } from '../input.ts';
import { convertValues, makeBatch } from '../row-batches.ts';
import { buildData } from '../types/build-data.ts';
import { fromBase64 } from '../types/values-of.ts';
import { fitsArrow, isText, toField } from './parquet-types.ts';
import { fromParquet } from './parquet-values.ts';

/** Values of all columns that are decoded at a time: vectors make rows large. */
const BATCH_VALUES = 4_000_000;

interface OpenedFile {
  readonly file: { readonly byteLength: number; readonly slice: (start: number, end?: number) => Promise<ArrayBuffer> };
  /** Without logical types: the reader then returns values as they are stored. */
  readonly stored: FileMetaData;
  readonly storedTypes: ReadonlyMap<string, DataType>;
}

export async function openParquet(input: Input): Promise<Source> {
  const { size } = input;
  const file = { byteLength: size, slice: async (start: number, end = size) => input.slice(start, end) };
  const parquet = await readMetadata(file);
  const arrowSchema = readArrowSchema(parquet);
  const fields = parquetSchema(parquet).children.map((tree) => toField(tree));
  const opened: OpenedFile = {
    file,
    stored: { ...parquet, schema: parquet.schema.map(toStored) },
    storedTypes: new Map(fields.map(({ name, type }) => [name, type])),
  };
  return {
    columns: fields.map((field) => toColumn(field, arrowSchema)),
    rowCount: Number(parquet.num_rows),
    metadata: arrowSchema?.metadata ?? new Map(),
    batches: (plan) => readBatches(opened, plan),
  };
}

async function readMetadata(file: OpenedFile['file']): Promise<FileMetaData> {
  try {
    return await parquetMetadataAsync(file, { geoparquet: false });
  } catch (cause) {
    const hint = 'A Parquet file ends with its schema and the letters PAR1.';
    throw invalidInput('The input is not a Parquet file, or it is cut off.', hint, cause);
  }
}

function toColumn(field: Field, arrowSchema: Schema | undefined): Field {
  const arrow = arrowSchema?.fields.find(({ name }) => name === field.name);
  const arrowType = DataType.isDictionary(arrow?.type) ? arrow.type.dictionary : arrow?.type;
  const type = arrowType !== undefined && fitsArrow(field.type, arrowType) ? arrowType : field.type;
  return field.clone({ type, metadata: arrow?.metadata ?? new Map() });
}

/** The Arrow schema that the writer kept; without it the types of Parquet are used. */
function readArrowSchema({ key_value_metadata: entries }: FileMetaData): Schema | undefined {
  const text = entries?.find(({ key }) => key === 'ARROW:schema')?.value;
  const bytes = text === undefined ? undefined : fromBase64(text);
  if (bytes === undefined) return undefined;
  try {
    const schema = new MessageReader(bytes).readSchema();
    return schema instanceof Schema ? schema : undefined;
  } catch {
    return undefined;
  }
}

function toStored(element: SchemaElement): SchemaElement {
  const stored = { ...element };
  delete stored.logical_type;
  if (element.type !== undefined) delete stored.converted_type;
  return element.type !== undefined && isText(element) ? { ...stored, converted_type: 'UTF8' } : stored;
}

async function* readBatches(
  { file, stored, storedTypes }: OpenedFile,
  { columns, schema, batchRows }: ReadPlan,
): AsyncGenerator<SourceBatch> {
  const scan = await parquetScan({
    file,
    metadata: stored,
    columns: columns.map(({ source }) => source.name),
    compressors,
    utf8: false,
    geoparquet: false,
    parsers: { timestampFromNanoseconds: (nanoseconds: bigint) => nanoseconds },
  });
  const total = Number(stored.num_rows);
  const step = Math.min(batchRows, Math.max(1, Math.floor(BATCH_VALUES / valuesPerRow(stored))));
  for (const { rowStart, rowEnd } of scan.ranges) {
    for (let row = rowStart; row < rowEnd; row += step) {
      const end = Math.min(row + step, rowEnd);
      const children: Data[] = [];
      for (const column of columns) {
        const type = storedTypes.get(column.source.name) ?? column.source.type;
        children.push(await readColumn(scan, type, column, [row, end]));
      }
      const endByte = Math.floor((file.byteLength * end) / total);
      yield { batch: makeBatch(schema, children, end - row), endByte };
    }
  }
}

function valuesPerRow({ row_groups: groups, num_rows: rows }: FileMetaData): number {
  const columns = groups.flatMap((group) => group.columns);
  const values = columns.reduce((sum, each) => sum + Number(each.meta_data?.num_values ?? 0), 0);
  return Math.max(1, values / Math.max(1, Number(rows)));
}

async function readColumn(
  scan: ParquetScan,
  type: DataType,
  column: PlannedColumn,
  [rowStart, rowEnd]: readonly [number, number],
): Promise<Data> {
  const { name } = column.source;
  const read = fromParquet(type);
  let values: unknown[];
  try {
    values = Array.from(await scan.readColumn({ column: name, rowStart, rowEnd }), (value) => read(value));
  } catch (cause) {
    const hint = 'Leave the column out, or write the file again.';
    throw invalidInput(`The column "${name}" of the Parquet file cannot be read.`, hint, cause);
  }
  if (column.convert === undefined) return buildData(column.field.type, values);
  return convertValues(values, type, column, rowStart);
}
