import { util } from 'apache-arrow';
import type { Schema } from 'apache-arrow';
import { isLosslessNumber } from 'lossless-json';
import { ServiceError } from '../errors/service-error.ts';
import { openArrow } from './arrow/arrow-source.ts';
import { openCsv } from './csv/csv-source.ts';
import { detectFormat } from './format.ts';
import type { Format, PlannedColumn, Source, SourceBatch, SourceColumn } from './format.ts';
import type { Input } from './input.ts';
import { openNdjson } from './json/ndjson-source.ts';
import { openParquet } from './parquet/parquet-source.ts';
import { schemaOf } from './row-batches.ts';
import { converterFor } from './types/convert-value.ts';
import { plainRows } from './types/values-of.ts';
import { formatType, parseType } from './types/type-text.ts';

/** What the caller wants of one column of a file. */
export interface ColumnChoice {
  /** Its name in the file. */
  readonly source: string;
  /** Its name in the table. */
  readonly name?: string | undefined;
  /** Such as `int64`, `utf8`, `float32[128]`; as in the file, or as inferred, when absent. */
  readonly type?: string | undefined;
  readonly skip?: boolean | undefined;
}

export interface ReadOptions {
  /** The name of the file; its extension decides the format where the contents do not. */
  readonly name?: string | undefined;
  readonly format?: Format | undefined;
  readonly columns?: readonly ColumnChoice[] | undefined;
  readonly batchRows?: number | undefined;
  readonly sampleRows?: number | undefined;
  readonly csv?: { readonly delimiter?: string | undefined; readonly header?: boolean | undefined } | undefined;
}

export interface Column {
  readonly source: string;
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
}

export type PreviewRow = Readonly<Record<string, unknown>>;

export interface Reader {
  readonly format: Format;
  /** Those that are read, under the names and with the types that they will have. */
  readonly columns: readonly Column[];
  /** Those of the file, as it has them. */
  readonly sourceColumns: readonly Column[];
  readonly schema: Schema;
  readonly rowCount: number | undefined;
  preview(rows: number): Promise<readonly PreviewRow[]>;
  batches(): AsyncGenerator<SourceBatch>;
}

const BATCH_ROWS = 16_384;
const SAMPLE_ROWS = 1000;

/** Opens a file of rows: its columns at once, a preview, and the rows as Arrow batches. */
export async function openReader(input: Input, options: ReadOptions = {}): Promise<Reader> {
  const format = options.format ?? (await detectFormat(input, options.name));
  const source = await openSource(input, format, options);
  const planned = planColumns(source, options.columns ?? []);
  const bounds = { rows: options.batchRows ?? BATCH_ROWS };
  return {
    format,
    columns: planned.map((column) => toColumn(column.source, column)),
    sourceColumns: source.columns.map((column) => toColumn(column, column)),
    schema: schemaOf(planned, source.metadata),
    rowCount: source.rowCount,
    preview: async (rows) => readPreview(source.batches(planned, { rows: Math.min(rows, bounds.rows) }), rows),
    batches: () => source.batches(planned, bounds),
  };
}

function toColumn(source: SourceColumn, { name, type }: Pick<SourceColumn, 'name' | 'type'>): Column {
  return { source: source.name, name, type: formatType(type), nullable: source.nullable };
}

async function openSource(input: Input, format: Format, options: ReadOptions): Promise<Source> {
  const { sampleRows = SAMPLE_ROWS } = options;
  switch (format) {
    case 'arrow':
      return openArrow(input);
    case 'parquet':
      return openParquet(input);
    case 'csv':
      return openCsv(input, { ...options.csv, sampleRows });
    case 'ndjson':
      return openNdjson(input, { sampleRows });
  }
}

function planColumns(source: Source, choices: readonly ColumnChoice[]): readonly PlannedColumn[] {
  const known = new Set(source.columns.map(({ name }) => name));
  const added = choices.filter((choice) => !known.has(choice.source)).map((choice) => addedColumn(choice, source));
  const planned = [...source.columns, ...added].flatMap((column) => {
    const choice = choices.find((each) => each.source === column.name);
    return choice?.skip === true ? [] : [planColumn(column, choice)];
  });
  const twice = planned.find(({ name }, index) => planned.findIndex((other) => other.name === name) !== index);
  if (twice !== undefined) throw new ServiceError('InvalidInput', `Two columns would be named "${twice.name}".`);
  if (planned.length > 0) return planned;
  throw new ServiceError('InvalidInput', 'All columns are skipped.', { hint: 'Keep one at least.' });
}

function addedColumn(choice: ColumnChoice, source: Source): SourceColumn {
  if (source.isOpen && (choice.type !== undefined || choice.skip === true)) {
    return { name: choice.source, type: parseType(choice.type ?? 'utf8'), nullable: true, metadata: new Map() };
  }
  throw new ServiceError('InvalidInput', `The file has no column "${choice.source}".`, {
    hint: `Its columns are ${source.columns.map(({ name }) => `"${name}"`).join(', ')}.`,
  });
}

function planColumn(source: SourceColumn, choice: ColumnChoice | undefined): PlannedColumn {
  const type = choice?.type === undefined ? source.type : parseType(choice.type);
  const isSame = type === source.type || util.compareTypes(type, source.type);
  return { source, name: choice?.name ?? source.name, type, convert: isSame ? undefined : converterFor(type) };
}

async function readPreview(batches: AsyncGenerator<SourceBatch>, rowsMax: number): Promise<readonly PreviewRow[]> {
  const rows: PreviewRow[] = [];
  for await (const { batch } of batches) {
    for (const row of plainRows(batch)) {
      if (rows.length === rowsMax) break;
      rows.push(Object.fromEntries(row.map(([name, value]) => [name, longNumbersAsText(value)])));
    }
    if (rows.length >= rowsMax) break;
  }
  return rows;
}

function longNumbersAsText(value: unknown): unknown {
  if (isLosslessNumber(value)) return value.value;
  if (Array.isArray(value)) return value.map(longNumbersAsText);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]: [string, unknown]) => [name, longNumbersAsText(part)]),
  );
}
