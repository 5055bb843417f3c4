import type { DataType } from '../../model/schema.ts';
import { BatchWriter } from '../format/batch-writer.ts';
import { VIEW_BYTES, hasBit, offsetBytes, readOffset, requireFixedWidth } from '../format/column-layout.ts';
import { writeI64 } from '../format/flatbuffer.ts';
import { readResultSchema } from '../schema/schema-reader.ts';
import { SHORT_BYTES, bytesReader, isValid, readColumns } from './result-columns.ts';
import type { ResultColumn } from './result-columns.ts';
import { readResultFile, rowsOf, writeResultFile } from './result-file.ts';
import type { ResultFile } from './result-file.ts';
import { dropUnusedValues } from './used-values.ts';

/** Consecutive rows of one source. */
export interface RowRange {
  readonly source: number;
  readonly start: number;
  readonly count: number;
}

/** Merges consecutive rows into one range. */
export function addRow(ranges: RowRange[], source: number, row: number): void {
  const last = ranges.at(-1);
  const isNext = last?.source === source && last.start + last.count === row;
  if (isNext) ranges.splice(-1, 1, { ...last, count: last.count + 1 });
  else ranges.push({ source, start: row, count: 1 });
}

export function countRows(ranges: readonly RowRange[]): number {
  return ranges.reduce((sum, { count }) => sum + count, 0);
}

const NONE = Buffer.alloc(0);

/** Values of a 32-bit float column; `undefined` is null. */
export type FloatValues = readonly (number | undefined)[];

/** Copies rows from several results with one schema, in any order, into new files. */
export class RowPicker {
  readonly #files: readonly ResultFile[];
  /** The columns of each file. */
  readonly #columns: readonly (readonly ResultColumn[])[];

  /** Each file contains one batch, as returned by the engine. */
  constructor(files: readonly Buffer[]) {
    this.#files = files.map(readResultFile);
    this.#columns = transpose(
      this.#files.map(({ schema, batches }) => {
        const { fields } = readResultSchema(schema).schema;
        return batches.flatMap(({ header, body }) => readColumns(header, header.table, fields, body));
      }),
    );
  }

  /**
   * Files have separate dictionaries, so rows with dictionary columns can only be copied together if they are from one
   * file.
   */
  get hasDictionaries(): boolean {
    return this.#files.some(({ dictionaries }) => dictionaries.length > 0);
  }

  /** One file with these rows. Values of some columns are replaced, by column name. */
  pick(ranges: readonly RowRange[], replaced: ReadonlyMap<string, FloatValues>): Buffer {
    const { schema, dictionaries } = at(this.#files, ranges[0]?.source ?? 0);
    const target = new BatchWriter();
    for (const columns of this.#columns) {
      const values = replaced.get(columns[0]?.field.name ?? '');
      if (values === undefined) pickColumn(columns, ranges, target);
      else addFloats(values, target);
    }
    const batch = target.toMessage(countRows(ranges), schema.version);
    return dropUnusedValues(writeResultFile({ schema, dictionaries, batch }));
  }
}

/** The bytes of a fixed-width column, such as row ids, from every batch of a file. */
export function readFixedColumn(file: Buffer, name: string): { readonly rows: number; readonly values: Buffer } {
  const { schema, batches } = readResultFile(file);
  const { fields } = readResultSchema(schema).schema;
  const values = batches.flatMap(({ header, body }) => {
    const column = readColumns(header, header.table, fields, body).find(({ field }) => field.name === name);
    return column?.buffers[0]?.subarray(0, column.length * requireFixedWidth(column.type)) ?? [];
  });
  const rows = batches.reduce((sum, { header }) => sum + rowsOf(header), 0);
  return { rows, values: values.length === 1 && values[0] !== undefined ? values[0] : Buffer.concat(values) };
}

/** From the columns of each source to the sources of each column. */
function transpose(sources: readonly (readonly ResultColumn[])[]): readonly (readonly ResultColumn[])[] {
  const [first = []] = sources;
  return first.map((_, index) => sources.map((columns) => at(columns, index)));
}

function pickColumn(columns: readonly ResultColumn[], ranges: readonly RowRange[], target: BatchWriter): void {
  const type = columns[0]?.type ?? { kind: 'null' };
  const rows = countRows(ranges);
  if (type.kind === 'null') return target.addNode(rows, rows);
  addValidity(columns, ranges, target);
  const childRanges = addValues(type, columns, ranges, target);
  for (const children of transpose(columns.map((column) => column.children))) pickColumn(children, childRanges, target);
}

function addValidity(columns: readonly ResultColumn[], ranges: readonly RowRange[], target: BatchWriter): void {
  const rows = countRows(ranges);
  if (columns.every(({ validity }) => validity === undefined)) {
    target.addNode(rows, 0);
    return target.addBuffer(NONE);
  }
  const bits = toBitmap(rows, ranges, (source, row) => isValid(at(columns, source), row));
  target.addNode(rows, rows - bits.set);
  target.addBuffer(bits.set === rows ? NONE : bits.bitmap);
}

/** Returns the child rows that belong to the picked rows. */
function addValues(
  type: DataType,
  columns: readonly ResultColumn[],
  ranges: readonly RowRange[],
  target: BatchWriter,
): readonly RowRange[] {
  switch (type.kind) {
    case 'struct':
      return ranges;
    case 'fixed-size-list':
      return multiply(ranges, type.length);
    case 'bool': {
      const isSet = (source: number, row: number): boolean => hasBit(bufferOf(columns, source, 0), row);
      target.addBuffer(toBitmap(countRows(ranges), ranges, isSet).bitmap);
      return [];
    }
    case 'list':
    case 'map':
      return addOffsets(offsetBytes(type.kind === 'list' ? type : { layout: 'plain' }), columns, ranges, target);
    case 'utf8':
    case 'binary':
      if (type.layout === 'view') {
        addViews(columns, ranges, target);
        return [];
      }
      target.addBuffer(copyBytes(columns, 1, addOffsets(offsetBytes(type), columns, ranges, target)));
      return [];
    default:
      target.addBuffer(copyBytes(columns, 0, multiply(ranges, widthOf(type))));
      return [];
  }
}

/** Returns what the offsets refer to: bytes, or child rows. */
function addOffsets(
  width: 4 | 8,
  columns: readonly ResultColumn[],
  ranges: readonly RowRange[],
  target: BatchWriter,
): readonly RowRange[] {
  const offsets = Buffer.alloc(width * (countRows(ranges) + 1));
  const items: RowRange[] = [];
  let [row, end] = [0, 0];
  for (const { source, start, count } of ranges) {
    if (count === 0) continue;
    const stored = bufferOf(columns, source, 0);
    const first = readOffset(stored, start, width);
    const shift = end - first;
    for (let index = start + 1; index <= start + count; index += 1) {
      end = readOffset(stored, index, width) + shift;
      row += 1;
      if (width === 4) offsets.writeInt32LE(end, 4 * row);
      else writeI64(offsets, end, 8 * row);
    }
    items.push({ source, start: first, count: end - shift - first });
  }
  target.addBuffer(offsets);
  return items;
}

/** All texts that do not fit into their views go into one buffer. */
function addViews(columns: readonly ResultColumn[], ranges: readonly RowRange[], target: BatchWriter): void {
  const views = Buffer.alloc(VIEW_BYTES * countRows(ranges));
  const readers = columns.map(bytesReader);
  const data: Buffer[] = [];
  let [view, dataBytes] = [0, 0];
  for (const { source, start, count } of ranges) {
    for (let row = start; row < start + count; row += 1, view += VIEW_BYTES) {
      const text = isValid(at(columns, source), row) ? readers[source]?.(row) : undefined;
      if (text === undefined) continue;
      views.writeUInt32LE(text.length, view);
      // The text if it is short, otherwise its prefix, the buffer number, which is 0, and its position there.
      text.copy(views, view + 4, 0, text.length <= SHORT_BYTES ? text.length : 4);
      if (text.length <= SHORT_BYTES) continue;
      views.writeUInt32LE(dataBytes, view + 12);
      data.push(text);
      dataBytes += text.length;
    }
  }
  target.addBuffer(views);
  target.addBuffer(Buffer.concat(data));
  target.addVariadicCount(1);
}

function copyBytes(columns: readonly ResultColumn[], buffer: number, ranges: readonly RowRange[]): Buffer {
  // Zeros remain if a writer omitted the values of nulls at the end.
  const target = Buffer.alloc(countRows(ranges));
  let end = 0;
  for (const { source, start, count } of ranges) {
    bufferOf(columns, source, buffer).copy(target, end, start, start + count);
    end += count;
  }
  return target;
}

function toBitmap(rows: number, ranges: readonly RowRange[], isSet: (source: number, row: number) => boolean) {
  const bitmap = Buffer.alloc(Math.ceil(rows / 8));
  let [index, set] = [0, 0];
  for (const { source, start, count } of ranges) {
    for (let row = start; row < start + count; row += 1, index += 1) {
      if (!isSet(source, row)) continue;
      bitmap.writeUInt8((bitmap[index >> 3] ?? 0) | (1 << (index & 7)), index >> 3);
      set += 1;
    }
  }
  return { bitmap, set };
}

function addFloats(values: FloatValues, target: BatchWriter): void {
  const ranges = [{ source: 0, start: 0, count: values.length }];
  const { bitmap, set } = toBitmap(values.length, ranges, (_, row) => values[row] !== undefined);
  target.addNode(values.length, values.length - set);
  target.addBuffer(set === values.length ? Buffer.alloc(0) : bitmap);
  target.addBuffer(Buffer.from(Float32Array.from(values, (value) => value ?? 0).buffer));
}

const INTERVAL_BYTES = { 'year-month': 4, 'day-time': 8, 'month-day-nano': 16 } as const;

function widthOf(type: DataType): number {
  if (type.kind === 'interval') return INTERVAL_BYTES[type.unit];
  return requireFixedWidth(type.kind === 'dictionary' ? type.index : type);
}

function multiply(ranges: readonly RowRange[], factor: number): readonly RowRange[] {
  return ranges.map(({ source, start, count }) => ({ source, start: start * factor, count: count * factor }));
}

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new RangeError(`a result has no part ${index}`);
  return item;
}

function bufferOf(columns: readonly ResultColumn[], source: number, index: number): Buffer {
  return at(columns, source).buffers[index] ?? NONE;
}
