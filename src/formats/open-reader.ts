import { Field, Schema, util } from 'apache-arrow';
import { isLosslessNumber } from 'lossless-json';
import { invalidInput } from '../errors/service-error.ts';
import { openArrow } from './arrow/arrow-source.ts';
import { openCsv } from './csv/csv-source.ts';
import type { CsvOptions } from './csv/csv-source.ts';
import { detectFormat } from './format.ts';
import type { Format, PlannedColumn, Source, SourceBatch } from './format.ts';
import type { Input } from './input.ts';
import { isJsonObject } from './json/exact-json.ts';
import { openNdjson } from './json/ndjson-source.ts';
import { openParquet } from './parquet/parquet-source.ts';
import { converterFor } from './types/convert-value.ts';
import { formatType, parseType } from './types/type-text.ts';
import { plainRows } from './types/values-of.ts';

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
  readonly csv?: CsvOptions | undefined;
}

export interface Column {
  readonly source: string;
  readonly name: string;
  readonly type: string;
}

type PreviewRow = Readonly<Record<string, unknown>>;

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

type Open = (input: Input, csv: CsvOptions | undefined) => Promise<Source>;
const OPENERS: Readonly<Record<Format, Open>> = {
  arrow: openArrow,
  parquet: openParquet,
  csv: openCsv,
  ndjson: openNdjson,
};

/** Opens a file of rows: its columns at once, a preview, and the rows as Arrow batches. */
export async function openReader(input: Input, options: ReadOptions = {}): Promise<Reader> {
  const format = options.format ?? (await detectFormat(input, options.name));
  const source = await OPENERS[format](input, options.csv);
  const columns = planColumns(source, options.columns ?? []);
  const { batchRows = BATCH_ROWS } = options;
  const fields = columns.map(({ field }) => field);
  const schema = new Schema(fields, source.metadata);
  return {
    format,
    columns: columns.map((column) => toColumn(column.source, column.field)),
    sourceColumns: source.columns.map((field) => toColumn(field, field)),
    schema,
    rowCount: source.rowCount,
    preview: async (rows) => {
      return readPreview(source.batches({ columns, schema, batchRows: Math.min(rows, batchRows) }), rows);
    },
    batches: () => source.batches({ columns, schema, batchRows }),
  };
}

function toColumn(source: Field, { name, type }: Field): Column {
  return { source: source.name, name, type: formatType(type) };
}

function planColumns(source: Source, choices: readonly ColumnChoice[]): readonly PlannedColumn[] {
  const known = new Set(source.columns.map(({ name }) => name));
  const added = choices.filter((choice) => !known.has(choice.source)).map((choice) => addedColumn(choice, source));
  const planned = [...source.columns, ...added].flatMap((column) => {
    const choice = choices.find((each) => each.source === column.name);
    return choice?.skip === true ? [] : [planColumn(column, choice)];
  });
  const names = planned.map(({ field }) => field.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalidInput(`Two columns would be named "${twice}".`);
  if (planned.length > 0) return planned;
  throw invalidInput('All columns are skipped.', 'Keep one at least.');
}

function addedColumn(choice: ColumnChoice, source: Source): Field {
  if (source.isOpen === true && (choice.type !== undefined || choice.skip === true)) {
    return new Field(choice.source, parseType(choice.type ?? 'utf8'), true);
  }
  const names = source.columns.map(({ name }) => `"${name}"`);
  throw invalidInput(`The file has no column "${choice.source}".`, `Its columns are ${names.join(', ')}.`);
}

function planColumn(source: Field, choice: ColumnChoice | undefined): PlannedColumn {
  const type = choice?.type === undefined ? source.type : parseType(choice.type);
  const isSame = type === source.type || util.compareTypes(type, source.type);
  const field = source.clone({ name: choice?.name ?? source.name, type });
  return { source, field, convert: isSame ? undefined : converterFor(type) };
}

async function readPreview(batches: AsyncGenerator<SourceBatch>, rowsMax: number): Promise<readonly PreviewRow[]> {
  const rows: PreviewRow[] = [];
  for await (const { batch } of batches) {
    for (const row of plainRows(batch)) {
      rows.push(Object.fromEntries(row.map(([name, value]) => [name, longNumbersAsText(value)])));
    }
    if (rows.length >= rowsMax) break;
  }
  return rows.slice(0, rowsMax);
}

function longNumbersAsText(value: unknown): unknown {
  if (isLosslessNumber(value)) return value.value;
  if (Array.isArray(value)) return value.map(longNumbersAsText);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, longNumbersAsText(part)]));
}
