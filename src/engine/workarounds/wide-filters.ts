import { countResultRows } from '../../arrow/results/result-file.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { Schema } from '../../model/schema.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';
import { searchColumn } from '../queries/full-text-query.ts';
import { DECODED_FACTOR, FILTER_ROWS, READ_AHEAD_BYTES, fixedBytes } from '../queries/query-memory.ts';
import type { TableSize } from '../queries/query-memory.ts';

/** The size of the columns that a filter reads; zero unless they are wide. */
export interface FilterSize {
  readonly rows: number;
  readonly rowBytes: number;
}

const NONE: FilterSize = { rows: 0, rowBytes: 0 };
const MiB = 2 ** 20;
/** The most that the columns of a filter may take in one batch. */
const BATCH_BYTES = 8 * MiB;
/** Batches that the engine decodes at once. */
const BATCHES = 3;
const NARROW_BYTES = 256;
const SAMPLE_ROWS = 16;
const FRESH_MILLISECONDS = 10_000;

interface Sampled extends FilterSize {
  readonly at: number;
}

const sampled = new WeakMap<NativeTable, Map<string, Sampled>>();

interface FilteredTable {
  readonly native: NativeTable;
  readonly schema: Schema;
  readonly readSize: (table: NativeTable) => Promise<TableSize>;
}

/**
 * Seen in @lancedb/lancedb 0.31.0 and 0.39.0: the engine reads the columns of a filter in batches of rows, however wide they
 * are, and 8192 rows of 40 KB take 1 GiB. Its statistics do not tell columns apart, so wide ones are measured on a few rows.
 */
export async function measureFilter(
  { native, schema, readSize }: FilteredTable,
  filter: GuardedSql | undefined,
): Promise<FilterSize> {
  const names = filter === undefined ? [] : findWideColumns(filter, schema);
  if (names.length === 0) return NONE;
  const known = sampled.get(native) ?? new Map<string, Sampled>();
  sampled.set(native, known);
  const key = JSON.stringify(names);
  const last = known.get(key);
  if (last !== undefined && performance.now() < last.at + FRESH_MILLISECONDS) return last;
  const { rows, bytes } = await readSize(native);
  const mayBeWide = isWide((DECODED_FACTOR * bytes) / Math.max(rows, 1), rows);
  const rowBytes = mayBeWide ? await sampleRows(native, names) : 0;
  const found = { ...(isWide(rowBytes, rows) ? { rows, rowBytes } : NONE), at: performance.now() };
  known.set(key, found);
  return found;
}

function isWide(rowBytes: number, rows: number): boolean {
  return rowBytes * Math.min(rows, FILTER_ROWS) > BATCH_BYTES;
}

/** The most rows that a batch may have. */
export function filterBatchRows({ rowBytes }: FilterSize): number {
  return Math.max(Math.floor(BATCH_BYTES / Math.max(rowBytes, 1)), 1);
}

/** What the engine reads ahead. */
export function filterReadBytes({ rows, rowBytes }: FilterSize): number {
  return Math.min(rows * rowBytes, READ_AHEAD_BYTES);
}

/** With what is read ahead, each of eight queries on rows of 40 KB took 50 to 65 MiB. */
export function filterBatchBytes(filter: FilterSize, batchRows = filterBatchRows(filter)): number {
  return BATCHES * Math.min(filter.rows, batchRows) * filter.rowBytes;
}

/** Columns that the filter names, or may name, whose values may be wide. */
function findWideColumns(filter: GuardedSql, { fields }: Schema): readonly string[] {
  const text = filter.toLowerCase();
  const named = fields.filter(({ name, type }) => {
    if (type.kind === 'dictionary' || (fixedBytes(type) ?? Infinity) < NARROW_BYTES) return false;
    return hasWord(text, name.toLowerCase());
  });
  return named.map(({ name }) => name);
}

function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    if (!isWordPart(text[at - 1]) && !isWordPart(text[at + word.length])) return true;
  }
  return false;
}

function isWordPart(character = ' '): boolean {
  return /[\p{Alphabetic}0-9_]/u.test(character);
}

async function sampleRows(native: NativeTable, names: readonly string[]): Promise<number> {
  const query = native.query();
  query.selectColumns(names.map((name) => searchColumn([name])));
  query.limit(SAMPLE_ROWS);
  const file = await engineCall(async () => (await query.execute(SAMPLE_ROWS, null)).next());
  return file === null ? 0 : file.length / Math.max(countResultRows(file), 1);
}
