import { Field } from 'apache-arrow';
import { invalidInput } from '../../errors/service-error.ts';
import type { PlannedColumn, Source } from '../format.ts';
import { readText } from '../input.ts';
import type { Input } from '../input.ts';
import { SAMPLE_ROWS, toBatches } from '../row-batches.ts';
import type { RowPiece } from '../row-batches.ts';
import { TypeInference } from '../types/infer-type.ts';
import { CsvRows, guessDelimiter } from './csv-rows.ts';
import type { CsvRow } from './csv-rows.ts';

export interface CsvOptions {
  /** Guessed if absent. */
  readonly delimiter?: string | undefined;
  /** Whether the first row contains the names; true if absent. */
  readonly header?: boolean | undefined;
}

interface Layout {
  readonly delimiter: string;
  readonly hasHeader: boolean;
  readonly names: readonly string[];
}

const GUESS_CHARACTERS = 65_536;

export async function openCsv(input: Input, options: CsvOptions = {}): Promise<Source> {
  const { delimiter, rows } = await readSample(input, options);
  const [first] = rows;
  if (first === undefined) throw invalidInput('The CSV file is empty.', 'The first row must have the column names.');
  const hasHeader = options.header ?? true;
  const names = hasHeader ? namesOf(first) : first.cells.map((_, index) => `column${index + 1}`);
  const layout: Layout = { delimiter, hasHeader, names };
  const inferred = inferColumns(layout, rows.slice(hasHeader ? 1 : 0));
  return {
    columns: inferred.map((column, index) => new Field(names[index] ?? '', column.plainType(), true)),
    findings: new Map(inferred.map((column, index) => [names[index] ?? '', column.finding()])),
    batches: (plan) => toBatches(readRows(input, layout, plan.columns), plan),
  };
}

async function readSample(input: Input, options: CsvOptions): Promise<{ delimiter: string; rows: readonly CsvRow[] }> {
  let { delimiter } = options;
  let reader: CsvRows | undefined;
  const rows: CsvRow[] = [];
  for await (const { text, endByte } of readText(input)) {
    delimiter ??= guessDelimiter(text.slice(0, GUESS_CHARACTERS));
    reader ??= new CsvRows(delimiter);
    rows.push(...reader.push(text));
    if (rows.length > SAMPLE_ROWS) break;
    if (endByte === input.size) rows.push(...reader.finish());
  }
  return { delimiter: delimiter ?? ',', rows: rows.slice(0, SAMPLE_ROWS + 1) };
}

function namesOf({ cells }: CsvRow): readonly string[] {
  const names = cells.map((cell, index) => (cell === null || cell.trim() === '' ? `column${index + 1}` : cell.trim()));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return names;
  throw invalidInput(`The header has the column "${twice}" twice.`, 'Column names must be unique.');
}

function inferColumns(layout: Layout, rows: readonly CsvRow[]): readonly TypeInference[] {
  const inferred = layout.names.map(() => new TypeInference(true));
  for (const row of rows) {
    if (isBlank(row, layout)) continue;
    requireWidth(row, layout);
    for (const [index, column] of inferred.entries()) column.add(row.cells[index]);
  }
  return inferred;
}

async function* readRows(input: Input, layout: Layout, planned: readonly PlannedColumn[]): AsyncGenerator<RowPiece> {
  const reader = new CsvRows(layout.delimiter);
  const indices = planned.map(({ source }) => layout.names.indexOf(source.name));
  let isHeader = layout.hasHeader;
  const toPiece = (found: readonly CsvRow[], characters: number, endByte: number): RowPiece => {
    const rows = found.slice(isHeader ? 1 : 0).filter((row) => !isBlank(row, layout));
    if (found.length > 0) isHeader = false;
    for (const row of rows) requireWidth(row, layout);
    const chosen = rows.map(({ line, cells }) => ({ line, cells: indices.map((index) => cells[index]) }));
    return { rows: chosen, characters, endByte };
  };
  for await (const { text, endByte } of readText(input)) yield toPiece(reader.push(text), text.length, endByte);
  yield toPiece(reader.finish(), 0, input.size);
}

/** An empty line; in a single-column file it is a null. */
function isBlank({ cells }: CsvRow, { names }: Layout): boolean {
  return names.length > 1 && cells.length === 1 && cells[0] === null;
}

function requireWidth({ cells, line }: CsvRow, { names }: Layout): void {
  if (cells.length === names.length) return;
  const hint = 'Every row needs as many cells as the first. Check the delimiter, and quote cells that contain it.';
  throw invalidInput(`The row on line ${line} has ${cells.length} cells; the first row has ${names.length}.`, hint);
}
