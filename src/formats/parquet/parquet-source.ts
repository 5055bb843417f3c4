import { DataType, MessageReader, Schema } from 'apache-arrow';
import type { Field } from 'apache-arrow';
import { parquetMetadataAsync, parquetScan, parquetSchema } from 'hyparquet';
import type { FileMetaData, ParquetScan, SchemaElement } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { ServiceError } from '../../errors/service-error.ts';
import { fromBase64 } from '../types/plain-value.ts';
import { buildData } from '../types/build-data.ts';
import { convertValues, makeBatch, schemaOf } from '../row-batches.ts';
import type { Input } from '../input.ts';
import { fitsArrow, isText, toField } from './parquet-types.ts';
import { fromParquet } from './parquet-values.ts';
import type { BatchBounds, PlannedColumn, Source, SourceBatch, SourceColumn } from '../format.ts';

/** Values of all columns that are decoded at a time: vectors make rows large. */
const BATCH_VALUES = 4_000_000;

interface OpenedFile {
  readonly file: { readonly byteLength: number; readonly slice: (start: number, end?: number) => Promise<ArrayBuffer> };
  /** Without logical types, so that the reader gives values as they are stored. */
  readonly stored: FileMetaData;
  readonly fields: readonly Field[];
}

export async function openParquet(input: Input): Promise<Source> {
  const file = {
    byteLength: input.size,
    slice: async (start: number, end?: number) => input.slice(start, end ?? input.size),
  };
  const metadata = await readMetadata(file);
  const kept = keptSchema(metadata);
  const fields = parquetSchema(metadata).children.map(toField);
  const opened: OpenedFile = { file, fields, stored: { ...metadata, schema: metadata.schema.map(toStored) } };
  return {
    columns: fields.map((field) => toColumn(field, kept)),
    isOpen: false,
    rowCount: Number(metadata.num_rows),
    metadata: kept?.metadata ?? new Map(),
    batches: (planned, bounds) => readBatches(opened, planned, bounds, kept?.metadata),
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

function toColumn(field: Field, kept: Schema | undefined): SourceColumn {
  const arrow = kept?.fields.find(({ name }) => name === field.name);
  const type = DataType.isDictionary(arrow?.type) ? arrow.type.dictionary : arrow?.type;
  return {
    name: field.name,
    type: type !== undefined && fitsArrow(field.type, type) ? type : field.type,
    nullable: field.nullable,
    metadata: arrow?.metadata ?? new Map(),
  };
}

/** The Arrow schema that the writer kept; a file is read well enough without it. */
function keptSchema({ key_value_metadata: entries }: FileMetaData): Schema | undefined {
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
  metadata: ReadonlyMap<string, string> | undefined,
): AsyncGenerator<SourceBatch> {
  const schema = schemaOf(planned, metadata);
  const parsers = { timestampFromNanoseconds: (nanoseconds: bigint) => nanoseconds };
  const columns = planned.map(({ source }) => source.name);
  const scan = await parquetScan({
    file,
    metadata: stored,
    columns,
    compressors,
    utf8: false,
    geoparquet: false,
    parsers,
  });
  const total = Number(stored.num_rows);
  const step = Math.min(bounds.rows, Math.max(1, Math.floor(BATCH_VALUES / valuesPerRow(stored))));
  for (const { rowStart, rowEnd } of scan.ranges) {
    for (let row = rowStart; row < rowEnd; row += step) {
      const end = Math.min(row + step, rowEnd);
      const children = [];
      for (const column of planned) children.push(await readColumn(scan, fields, column, { row, end }));
      const endByte = Math.floor((file.byteLength * end) / total);
      yield { batch: makeBatch(schema, children, end - row), rows: end - row, endByte };
    }
  }
}

function valuesPerRow({ row_groups: groups, num_rows: rows }: FileMetaData): number {
  const values = groups
    .flatMap(({ columns }) => columns)
    .reduce((sum, each) => sum + Number(each.meta_data?.num_values ?? 0), 0);
  return Math.max(1, values / Math.max(1, Number(rows)));
}

async function readColumn(
  scan: ParquetScan,
  fields: readonly Field[],
  column: PlannedColumn,
  { row, end }: { readonly row: number; readonly end: number },
): Promise<ReturnType<typeof buildData>> {
  const field = fields.find(({ name }) => name === column.source.name);
  if (field === undefined)
    return buildData(
      column.type,
      Array.from({ length: end - row }, () => null),
    );
  const read = fromParquet(field.type);
  let values: unknown[];
  try {
    values = Array.from(await scan.readColumn({ column: field.name, rowStart: row, rowEnd: end }), read);
  } catch (error) {
    throw new ServiceError('InvalidInput', `The column "${field.name}" of the Parquet file cannot be read.`, {
      hint: 'Leave the column out, or write the file again.',
      cause: error,
    });
  }
  return column.convert === undefined ? buildData(column.type, values) : convertValues(values, field.type, column, row);
}
