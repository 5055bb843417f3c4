import { DataType, MessageReader, Schema } from 'apache-arrow';
import type { Data, Field } from 'apache-arrow';
import { parquetMetadataAsync, parquetScan, parquetSchema } from 'hyparquet';
import type { FileMetaData, ParquetScan, SchemaElement } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { ServiceError } from '../../errors/service-error.ts';
import type { BatchBounds, PlannedColumn, Source, SourceBatch, SourceColumn } from '../format.ts';
import type { Input } from '../input.ts';
import { convertValues, makeBatch, nullData, schemaOf } from '../row-batches.ts';
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
  readonly fields: readonly Field[];
}

export async function openParquet(input: Input): Promise<Source> {
  const file = {
    byteLength: input.size,
    slice: async (start: number, end?: number) => input.slice(start, end ?? input.size),
  };
  const parquet = await readMetadata(file);
  const arrowSchema = readArrowSchema(parquet);
  const metadata = arrowSchema?.metadata ?? new Map<string, string>();
  const fields = parquetSchema(parquet).children.map((tree) => toField(tree));
  const opened: OpenedFile = { file, fields, stored: { ...parquet, schema: parquet.schema.map(toStored) } };
  return {
    columns: fields.map((field) => toColumn(field, arrowSchema)),
    isOpen: false,
    rowCount: Number(parquet.num_rows),
    metadata,
    batches: (planned, bounds) => readBatches(opened, planned, bounds, metadata),
  };
}

async function readMetadata(file: OpenedFile['file']): Promise<FileMetaData> {
  try {
    return await parquetMetadataAsync(file, { geoparquet: false });
  } catch (error) {
    throw new ServiceError('InvalidInput', 'The input is not a Parquet file, or it is cut off.', {
      hint: 'A Parquet file ends with its schema and the letters PAR1.',
      cause: error,
    });
  }
}

function toColumn({ name, type, nullable }: Field, arrowSchema: Schema | undefined): SourceColumn {
  const arrow = arrowSchema?.fields.find((field) => field.name === name);
  const arrowType = DataType.isDictionary(arrow?.type) ? arrow.type.dictionary : arrow?.type;
  const fits = arrowType !== undefined && fitsArrow(type, arrowType);
  return { name, type: fits ? arrowType : type, nullable, metadata: arrow?.metadata ?? new Map() };
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
  { file, stored, fields }: OpenedFile,
  planned: readonly PlannedColumn[],
  bounds: BatchBounds,
  metadata: ReadonlyMap<string, string>,
): AsyncGenerator<SourceBatch> {
  const schema = schemaOf(planned, metadata);
  const scan = await parquetScan({
    file,
    metadata: stored,
    columns: planned.map(({ source }) => source.name),
    compressors,
    utf8: false,
    geoparquet: false,
    parsers: { timestampFromNanoseconds: (nanoseconds: bigint) => nanoseconds },
  });
  const total = Number(stored.num_rows);
  const step = Math.min(bounds.rows, Math.max(1, Math.floor(BATCH_VALUES / valuesPerRow(stored))));
  for (const { rowStart, rowEnd } of scan.ranges) {
    for (let row = rowStart; row < rowEnd; row += step) {
      const end = Math.min(row + step, rowEnd);
      const children: Data[] = [];
      for (const column of planned) {
        const field = fields.find(({ name }) => name === column.source.name);
        const isMissing = field === undefined;
        children.push(isMissing ? nullData(column.type, end - row) : await readColumn(scan, field, column, [row, end]));
      }
      const endByte = Math.floor((file.byteLength * end) / total);
      yield { batch: makeBatch(schema, children, end - row), rows: end - row, endByte };
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
  field: Field,
  column: PlannedColumn,
  [rowStart, rowEnd]: readonly [number, number],
): Promise<Data> {
  const read = fromParquet(field.type);
  let values: unknown[];
  try {
    values = Array.from(await scan.readColumn({ column: field.name, rowStart, rowEnd }), (value) => read(value));
  } catch (error) {
    throw new ServiceError('InvalidInput', `The column "${field.name}" of the Parquet file cannot be read.`, {
      hint: 'Leave the column out, or write the file again.',
      cause: error,
    });
  }
  if (column.convert === undefined) return buildData(column.type, values);
  return convertValues(values, field.type, column, rowStart);
}
