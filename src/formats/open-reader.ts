import { DataType, Field, Schema, util } from 'apache-arrow';
import { isLosslessNumber } from 'lossless-json';
import { invalidInput } from '../errors/service-error.ts';
import { openArrow } from './arrow/arrow-source.ts';
import { openCsv } from './csv/csv-source.ts';
import type { CsvOptions } from './csv/csv-source.ts';
import { findVectors, isListOfNumbers } from './detect-vectors.ts';
import { detectFormat, noSuchColumn } from './format.ts';
import type { Finding, Format, PlannedColumn, Source, SourceBatch } from './format.ts';
import type { Input } from './input.ts';
import { isJsonObject } from './json/exact-json.ts';
import { openNdjson } from './json/ndjson-source.ts';
import { openParquet } from './parquet/parquet-source.ts';
import { converterFor, detectedConverter } from './types/convert-value.ts';
import { formatType, parseType, vectorOf } from './types/type-text.ts';
import { plainRows } from './types/values-of.ts';

export interface ColumnChoice {
  /** Its name in the file. */
  readonly source: string;
  /** Its name in the table. */
  readonly name?: string | undefined;
  /** Such as `int64`, `utf8`, `vector[128]`; if absent, as in the file or as inferred. */
  readonly type?: string | undefined;
  /** Whether its lists are vectors, or their length; detected if absent. A given type takes precedence. */
  readonly vector?: boolean | number | undefined;
  /** Why the type was chosen, if not by the caller. */
  readonly reason?: string | undefined;
  /** Whether the type was detected in another file: then it must not round whole numbers. */
  readonly isDetected?: boolean | undefined;
  readonly skip?: boolean | undefined;
}

export interface ReadOptions {
  /** The name of the file; its extension decides the format if the contents do not. */
  readonly name?: string | undefined;
  readonly format?: Format | undefined;
  readonly columns?: readonly ColumnChoice[] | undefined;
  /** Whether a JSON file may lack chosen columns, because other files have them. */
  readonly mayLackColumns?: boolean | undefined;
  readonly batchRows?: number | undefined;
  readonly csv?: CsvOptions | undefined;
}

export interface Column {
  readonly source: string;
  readonly name: string;
  readonly type: string;
  /** Why it has this type, for people. */
  readonly reason: string;
}

type PreviewRow = Readonly<Record<string, unknown>>;

export interface Reader {
  readonly format: Format;
  /** The columns to read, with their names and types in the table. */
  readonly columns: readonly Column[];
  /** The columns of the file, unchanged. */
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
  parquet: async (input) => openParquet(input),
  csv: openCsv,
  ndjson: openNdjson,
};

/** Opens a file of rows: its columns, a preview, and the rows as Arrow batches. */
export async function openReader(input: Input, options: ReadOptions = {}): Promise<Reader> {
  const format = options.format ?? (await detectFormat(input, options.name));
  const source = await OPENERS[format](input, options.csv);
  const { batchRows = BATCH_ROWS, columns: choices = [], mayLackColumns } = options;
  const columns = await planColumns(source, choices, mayLackColumns === true);
  const skipped = choices.filter(({ skip }) => skip === true).map((choice) => choice.source);
  const fields = columns.map(({ field }) => field);
  const schema = new Schema(fields, source.metadata);
  return {
    format,
    columns: columns.map((column) => toColumn(column.source, column.field, column.reason)),
    sourceColumns: source.columns.map((field) => toColumn(field, field, AS_IN_FILE)),
    schema,
    rowCount: source.rowCount,
    preview: async (rows) => {
      return readPreview(
        source.batches({ columns, schema, batchRows: Math.min(rows, batchRows), skipped, mayLackColumns: true }),
        rows,
      );
    },
    batches: () => source.batches({ columns, schema, batchRows, skipped, mayLackColumns }),
  };
}

function toColumn(source: Field, { name, type }: Field, reason: string): Column {
  return { source: source.name, name, type: formatType(type), reason };
}

async function planColumns(
  source: Source,
  choices: readonly ColumnChoice[],
  mayLackColumns: boolean,
): Promise<readonly PlannedColumn[]> {
  const chosen = new Map(choices.map((choice) => [choice.source, choice]));
  const known = new Set(source.columns.map(({ name }) => name));
  const isOpen = source.isOpen === true || (source.isOpen === false && mayLackColumns);
  const added = choices
    .filter((choice) => !known.has(choice.source))
    .map((choice) => addedColumn(choice, { known: [...known], isOpen }));
  const findings = source.findings ?? (await findVectors(source, (name) => isDetected(chosen.get(name))));
  const planned = [...source.columns, ...added].flatMap((column) => {
    const choice = chosen.get(column.name);
    const detected = { finding: findings.get(column.name), isTyped: source.findings === undefined };
    return choice?.skip === true ? [] : [planColumn(column, choice, detected)];
  });
  const names = planned.map(({ field }) => field.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalidInput(`Two columns would be named "${twice}".`);
  if (planned.length > 0) return planned;
  throw invalidInput('All columns are skipped.', 'Keep at least one.');
}

/** Whether the type of a column depends on its values. */
function isDetected(choice: ColumnChoice | undefined): boolean {
  const { type, vector = true, skip } = choice ?? {};
  return type === undefined && vector === true && skip !== true;
}

interface Known {
  readonly known: readonly string[];
  readonly isOpen: boolean;
}

function addedColumn(choice: ColumnChoice, { known, isOpen }: Known): Field {
  if (!isOpen || (choice.type === undefined && choice.skip !== true)) throw noSuchColumn(choice.source, known);
  return new Field(choice.source, parseType(choice.type ?? 'utf8'), true);
}

interface Detected {
  readonly finding: Finding | undefined;
  /** Whether the file has types. */
  readonly isTyped: boolean;
}

function planColumn(source: Field, choice: ColumnChoice | undefined, { finding, isTyped }: Detected): PlannedColumn {
  const { type, reason } = chooseType(source, choice, finding);
  const isSame = type === source.type || util.compareTypes(type, source.type);
  const field = source.clone({ name: choice?.name ?? source.name, type });
  const isFound = choice?.isDetected === true || type === finding?.type || type === source.type;
  const convert = isFound ? detectedConverter(type) : converterFor(type);
  return { source, field, reason, convert: isSame && isTyped ? undefined : convert };
}

const AS_IN_FILE = 'as in the file';

/** What the caller chose, otherwise what the first rows suggest, otherwise the file's type. */
function chooseType(
  source: Field,
  choice: ColumnChoice | undefined,
  finding: Finding | undefined,
): Pick<Finding, 'type' | 'reason'> {
  const reason = choice?.reason ?? 'chosen';
  if (choice?.type !== undefined) return { type: parseType(choice.type), reason };
  if (choice?.vector === undefined) return finding ?? { type: source.type, reason: AS_IN_FILE };
  if (choice.vector === false) return { type: source.type, reason };
  const length = choice.vector === true ? lengthOf(source, finding) : choice.vector;
  return { type: vectorOf(itemTypeOf(source, finding), length), reason };
}

/** Floats of a typed file keep their type; other numbers become 32-bit floats. */
function itemTypeOf({ name, type }: Field, finding: Finding | undefined): DataType {
  if (!DataType.isList(type) || !isListOfNumbers(type)) {
    throw invalidInput(
      `The column "${name}" has the type ${formatType(type)}.`,
      'Only lists of numbers can become vectors.',
    );
  }
  if (DataType.isFixedSizeList(finding?.type)) return finding.type.valueType;
  return DataType.isFloat(type.valueType) ? type.valueType : parseType('float32');
}

function lengthOf(source: Field, finding: Finding | undefined): number {
  const lengths = [...(finding?.lists?.lengths ?? [])].toSorted((one, other) => one - other);
  const [length = 0] = lengths;
  if (lengths.length === 1 && length > 0) return length;
  itemTypeOf(source, finding);
  const seen = lengths.length > 1 ? `from ${length} to ${lengths.at(-1)} values` : 'no values';
  const hint = 'Give the number of values of its vectors; rows with another number are refused.';
  throw invalidInput(`The first lists of "${source.name}" have ${seen}.`, hint);
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
