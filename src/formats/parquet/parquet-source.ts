import { DataType, Schema, tableFromIPC } from 'apache-arrow';
import type { Data, Field } from 'apache-arrow';
import type * as parquet from 'parquet-wasm';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { toSchemaBytes } from '../arrow/arrow-stream.ts';
import type { PlannedColumn, ReadPlan, Source, SourceBatch } from '../format.ts';
import type { Input } from '../input.ts';
import { convertColumn, makeBatch } from '../row-batches.ts';
import { buildData } from '../types/build-data.ts';
import { listOf } from '../types/type-text.ts';
import { valuesOf } from '../types/values-of.ts';
import { readWindows } from './page-windows.ts';
import { notParquet, readFooter } from './parquet-footer.ts';
import { ParquetLayout } from './parquet-layout.ts';
import type { Chunk, Leaf, Piece, RowGroup } from './parquet-layout.ts';
import { loadParquet } from './parquet-library.ts';

/** The approximate number of bytes decoded at a time, because vectors make rows large. */
const STEP_BYTES = 16 * 1024 * 1024;
/** Row groups above `wholeBytes` are read a few pages at a time, up to `windowBytes`, each column separately. */
const BOUNDS = { wholeBytes: 8 * 1024 * 1024, windowBytes: 4 * 1024 * 1024 };
/** For columns that cannot be read in parts: structs, maps, and lists of lists. */
const COLUMN_BYTES_MAX = 2 ** 29;
/** Set in files of Iceberg and similar tables; meaningless outside of them. */
const FIELD_ID_KEY = 'PARQUET:field_id';

interface OpenedFile {
  readonly input: Input;
  readonly library: typeof parquet;
  readonly layout: ParquetLayout;
  readonly fields: readonly Field[];
  readonly bounds: typeof BOUNDS;
}

/** Rows of some columns. */
interface Rows {
  readonly columns: readonly Data[];
  readonly length: number;
}

/**
 * The library decodes small files that are assembled from parts of the large one: it then needs little memory, and a
 * faulty file that stops it causes an error here.
 */
export async function openParquet(input: Input, bounds = BOUNDS): Promise<Source> {
  const footer = await readFooter(input);
  const library = await loadParquet();
  try {
    const layout = new ParquetLayout(footer.bytes);
    const { schema } = tableFromIPC(library.readSchema(layout.schemaFile()).intoIPCStream());
    const opened = { input, library, layout, fields: schema.fields, bounds };
    return {
      columns: schema.fields.map(toColumn),
      rowCount: layout.rows,
      metadata: footer.hasArrowSchema ? schema.metadata : new Map(),
      batches: (plan) => readBatches(opened, plan),
    };
  } catch (cause) {
    throw cause instanceof ServiceError ? cause : notParquet(cause);
  }
}

function toColumn(field: Field): Field {
  if (!field.metadata.has(FIELD_ID_KEY)) return field;
  return field.clone({ metadata: new Map([...field.metadata].filter(([key]) => key !== FIELD_ID_KEY)) });
}

async function* readBatches(opened: OpenedFile, { columns, schema, batchRows }: ReadPlan): AsyncGenerator<SourceBatch> {
  const { input, layout } = opened;
  let row = 0;
  for (let index = 0; index < layout.groupCount; index += 1) {
    for await (const { columns: found, length } of readGroup(opened, index, { columns, batchRows })) {
      const children = columns.map((column, each) => convertColumn(found[each], column, row));
      row += length;
      const endByte = Math.floor((input.size * row) / Math.max(1, layout.rows));
      yield { batch: makeBatch(schema, children, length), endByte };
    }
  }
}

async function* readGroup(
  opened: OpenedFile,
  index: number,
  { columns, batchRows }: Pick<ReadPlan, 'columns' | 'batchRows'>,
): AsyncGenerator<Rows> {
  try {
    const group = opened.layout.group(index);
    const names = columns.map(({ source }) => source.name);
    const chunks = group.chunks.filter(({ leaf }) => names.includes(leaf.column));
    const isSmall = sum(chunks, ({ bytes, plainBytes }) => Math.max(bytes, plainBytes)) <= opened.bounds.wholeBytes;
    if (isSmall) yield* align([readWhole(opened, group, names)], batchRows);
    else {
      const readers = columns.map((column) => readOne(opened, group, column));
      yield* align(readers, batchRows);
    }
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    const hint = 'Skip the faulty column, or write the file again.';
    throw invalidInput(`The row group ${index + 1} of the Parquet file cannot be read.`, hint, cause);
  }
}

function readOne(opened: OpenedFile, group: RowGroup, { source }: PlannedColumn): AsyncGenerator<Rows> {
  const [chunk, ...others] = group.chunks.filter(({ leaf }) => leaf.column === source.name);
  const isCut = chunk !== undefined && others.length === 0 && chunk.leaf.repetitionMax <= 1;
  return isCut ? readCut(opened, group, chunk) : readWhole(opened, group, [source.name]);
}

/** Whole chunks, decoded some rows at a time. */
async function* readWhole(opened: OpenedFile, group: RowGroup, names: readonly string[]): AsyncGenerator<Rows> {
  const { input, layout } = opened;
  const chunks = group.chunks.filter(({ leaf }) => names.includes(leaf.column));
  if (sum(chunks, (chunk) => chunk.bytes) > COLUMN_BYTES_MAX) throw columnTooLarge(chunks);
  const pieces = new Map<Leaf, Piece>();
  for (const chunk of chunks) {
    const bytes = new Uint8Array(await input.slice(chunk.start, chunk.start + chunk.bytes));
    pieces.set(chunk.leaf, { ...chunk, parts: [bytes] });
  }
  const arrowSchema = schemaOf(opened, names, (type) => type);
  const file = layout.file({ rows: group.rows, group, pieces, arrowSchema });
  pieces.clear();
  const rowBytes = sum(chunks, ({ plainBytes }) => plainBytes) / Math.max(1, group.rows);
  const step = Math.max(1, Math.min(65_536, Math.floor(STEP_BYTES / Math.max(1, rowBytes))));
  for (let offset = 0; offset < group.rows; offset += step) {
    yield* decode(opened, file, names, { offset, limit: Math.min(step, group.rows - offset), batchSize: step });
  }
}

function columnTooLarge(chunks: readonly Chunk[]): ServiceError {
  const name = chunks.toSorted((one, other) => other.bytes - one.bytes)[0]?.leaf.column ?? '';
  const hint = 'Write the file with smaller row groups, such as row_group_size=100_000 in pyarrow.';
  return invalidInput(`The column "${name}" has more than 512 MiB in a row group of the Parquet file.`, hint);
}

/** A column of values, or of lists of values, a few pages at a time. */
async function* readCut(opened: OpenedFile, group: RowGroup, chunk: Chunk): AsyncGenerator<Rows> {
  const { input, layout, bounds } = opened;
  const { leaf } = chunk;
  const arrowSchema = schemaOf(opened, [leaf.column], toList);
  const seam = new ListSeam();
  for await (const window of readWindows(input, chunk, bounds.windowBytes)) {
    // A list has at least one value, so there are no more rows than values.
    const file = layout.file({ rows: window.values, group, pieces: new Map([[leaf, window]]), arrowSchema });
    for (const rows of decode(opened, file, [leaf.column], { batchSize: window.values })) {
      if (leaf.repetitionMax === 0) yield rows;
      else for (const data of rows.columns) yield* toRows(seam.add(data, window.hasFiller));
    }
  }
  yield* toRows(seam.end());
}

/** The Arrow schema of some columns, which gives the library their types. */
function schemaOf({ fields }: OpenedFile, names: readonly string[], toType: (type: DataType) => DataType): Uint8Array {
  const kept = fields.filter(({ name }) => names.includes(name));
  return toSchemaBytes(new Schema(kept.map((field) => field.clone({ type: toType(field.type) }))));
}

/** A vector may be cut at the end of a page. */
function toList(type: DataType): DataType {
  return DataType.isFixedSizeList(type) ? listOf(type.valueType) : type;
}

function toRows(data: readonly Data[]): readonly Rows[] {
  return data.map((column) => ({ columns: [column], length: column.length }));
}

function* decode(
  { library }: OpenedFile,
  file: Uint8Array,
  names: readonly string[],
  options: Pick<parquet.ReaderOptions, 'offset' | 'limit' | 'batchSize'>,
): Generator<Rows> {
  const table = library.readParquet(file, options);
  const batches = table.recordBatches();
  table.free();
  for (const each of batches) {
    for (const { schema, data, numRows } of tableFromIPC(each.intoIPCStream()).batches) {
      const columns = names.map((name) => {
        const column = data.children[schema.fields.findIndex((field) => field.name === name)];
        if (column === undefined) throw new Error(`a batch without the column "${name}"`);
        return column;
      });
      yield { columns, length: numRows };
    }
  }
}

/** Combines the rows of columns that are read separately. */
async function* align(readers: readonly AsyncGenerator<Rows>[], rowsMax: number): AsyncGenerator<Rows> {
  try {
    let heads = await Promise.all(readers.map(async (reader) => nextRows(reader)));
    while (!heads.every((head) => head === undefined)) {
      const length = Math.min(rowsMax, ...heads.map((head) => head?.length ?? 0));
      if (length === 0) throw new Error('columns of different lengths');
      yield { columns: heads.flatMap((head) => head?.columns.map((data) => take(data, 0, length)) ?? []), length };
      heads = await Promise.all(heads.map(async (head, index) => dropRows(readers[index], head, length)));
    }
  } finally {
    for (const reader of readers) await reader.return(undefined);
  }
}

async function nextRows(reader: AsyncGenerator<Rows> | undefined): Promise<Rows | undefined> {
  for (let next = await reader?.next(); next?.done === false; next = await reader?.next()) {
    if (next.value.length > 0) return next.value;
  }
  return undefined;
}

function take(data: Data, start: number, length: number): Data {
  return start === 0 && length === data.length ? data : data.slice(start, length);
}

async function dropRows(reader: AsyncGenerator<Rows> | undefined, rows: Rows | undefined, count: number) {
  if (rows === undefined || rows.length === count) return nextRows(reader);
  const length = rows.length - count;
  return { columns: rows.columns.map((data) => take(data, count, length)), length };
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

/** Joins the lists of a column that is read in windows: the last list of one window may continue in the next. */
class ListSeam {
  #last: Data | undefined;

  /**
   * Returns the rows that are known to be complete. With a filler, the first item of the first list is not part of it.
   */
  add(data: Data, hasFiller: boolean): readonly Data[] {
    const whole: Data[] = [];
    let rest = data;
    if (hasFiller && this.#last !== undefined) {
      const items = firstItems(data).slice(1);
      rest = data.slice(1, data.length - 1);
      if (items.length > 0) this.#last = continued(this.#last, items);
    }
    if (rest.length === 0) return whole;
    if (this.#last !== undefined) whole.push(this.#last);
    if (rest.length > 1) whole.push(rest.slice(0, rest.length - 1));
    this.#last = rest.slice(rest.length - 1, 1);
    return whole;
  }

  end(): readonly Data[] {
    return this.#last === undefined ? [] : [this.#last];
  }
}

function continued(row: Data, items: readonly unknown[]): Data {
  if (!DataType.isList(row.type)) throw new TypeError('a row that is no list');
  return buildData(row.type, [[...firstItems(row), ...items]]);
}

/** The items of the first list, without reading those of the others. */
function firstItems({ valueOffsets: [start = 0, end = 0], children: [items] }: Data): readonly unknown[] {
  return items === undefined ? [] : valuesOf(items.slice(start, end - start));
}
