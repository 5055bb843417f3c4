import { RowHasher } from '../../arrow/results/row-hash.ts';
import type { TableState } from '../../model/table.ts';
import type { QueryTimeout } from '../native/query-deadline.ts';
import type { EngineParts } from '../parts.ts';
import { runOnce } from '../queries/query-run.ts';
import type { ReadLease } from '../queries/read-memory.ts';
import { readStates } from '../versions/reads.ts';
import { chooseColumns, chooseKey } from './diff-columns.ts';
import type { ColumnChanges, ColumnsOfDiff, DiffKey } from './diff-columns.ts';
import { HELD_ROW_BYTES } from './held-rows.ts';
import { RowMatcher } from './row-matcher.ts';
import type { Changes } from './row-matcher.ts';
import { showRows } from './shown-rows.ts';
import type { ShownRow } from './shown-rows.ts';
import { countRows, findUnsharedRows, readLayouts, tooManyRows } from './unshared-rows.ts';
import type { RowSet, UnsharedRows } from './unshared-rows.ts';
import { narrow, openVersion, prepareReading, scanRows, takeRows } from './version-rows.ts';
import type { OpenVersion, RowReading, Stop } from './version-rows.ts';

export interface DiffRequest {
  /** Both are states of one table. */
  readonly from: TableState;
  readonly to: TableState;
  /** Columns that identify a row; chosen automatically if absent. */
  readonly on: readonly string[] | undefined;
  /** Columns to compare and show; all if absent. */
  readonly columns: readonly string[] | undefined;
  /** The most changes to show; all are counted. */
  readonly limit: number;
  /** The most rows of both versions to compare. */
  readonly rowsMax: number;
  readonly shownCharactersMax: number;
}

export interface VersionDiff {
  readonly from: number;
  readonly to: number;
  readonly key: DiffKey;
  readonly columns: ColumnChanges;
  readonly counts: Changes['counts'];
  readonly hasRepeatedKeys: boolean;
  readonly rows: readonly ShownRow[];
}

const SLOW_HINT = 'Name fewer columns with columns, or compare versions that are closer together.';

/** Compares the rows of two versions, of one branch or of two. Reads only what they do not share. */
export async function diffVersions(
  parts: EngineParts,
  request: DiffRequest,
  timeout: QueryTimeout,
): Promise<VersionDiff> {
  const stop: Stop = { isStopped: false };
  try {
    return await runOnce(parts, { ...timeout, hint: SLOW_HINT }, async ({ lease }) =>
      readStates(parts.tables, [request.from, request.to], async () => openAndCompare(parts, request, { lease, stop })),
    );
  } finally {
    stop.isStopped = true;
  }
}

async function openAndCompare(
  parts: EngineParts,
  request: DiffRequest,
  run: Pick<Comparison, 'lease' | 'stop'>,
): Promise<VersionDiff> {
  const opened: OpenVersion[] = [];
  try {
    const from = await openVersion(parts, request.from);
    opened.push(from);
    const to = await openVersion(parts, request.to);
    opened.push(to);
    return await compare(parts, request, { from, to, ...run });
  } finally {
    for (const version of opened) version.close();
  }
}

interface Comparison {
  readonly from: OpenVersion;
  readonly to: OpenVersion;
  readonly lease: ReadLease;
  readonly stop: Stop;
}

async function compare(parts: EngineParts, request: DiffRequest, comparison: Comparison): Promise<VersionDiff> {
  const { from, to, lease } = comparison;
  const schemas = { from: from.schema, to: to.schema };
  const layouts = await readLayouts(parts, request, comparison);
  const key = chooseKey({ ...schemas, on: request.on, hasRowIds: layouts.hasRowIds });
  const columns = chooseColumns(schemas, request.columns);
  const keyColumns = key.kind === 'columns' ? key.columns : [];
  const read = merge(keyColumns, columns.compared);
  const unshared = await findUnsharedRows(comparison, layouts, { columns: read, rowsMax: request.rowsMax });
  const before = await prepareReading(parts, from, merge(read, columns.shownBefore), comparison);
  const after = await prepareReading(parts, to, merge(read, columns.shownAfter), comparison);
  await reserveRows(parts, lease, countRows(unshared.from) + countRows(unshared.to));
  const hashed = { before: narrow(before, from, read), after: narrow(after, to, read), unshared, key, columns };
  const { first, counts, hasRepeatedKeys } = (await matchRows(hashed)).finish(request.limit);
  const rows = await showRows(first, { before, after, key, columns, charactersMax: request.shownCharactersMax });
  return { from: from.version, to: to.version, key, columns: columns.changes, counts, hasRepeatedKeys, rows };
}

function merge(names: readonly string[], others: readonly string[]): readonly string[] {
  return [...new Set([...names, ...others])];
}

/** Below this, reserving memory would only make small comparisons wait for large queries. */
const UNCOUNTED_BYTES = 8 * 1024 * 1024;

/** In addition to the memory of the scans. */
async function reserveRows({ memory }: EngineParts, lease: ReadLease, rows: number): Promise<void> {
  const bytes = rows * HELD_ROW_BYTES;
  const { memoryPerRequestBytesMax } = memory.limits;
  if (bytes > memoryPerRequestBytesMax) throw tooManyRows(rows, Math.floor(memoryPerRequestBytesMax / HELD_ROW_BYTES));
  if (bytes >= UNCOUNTED_BYTES) await lease.reserve(lease.heldBytes + bytes, 0);
}

interface HashedReading {
  readonly before: RowReading;
  readonly after: RowReading;
  readonly unshared: UnsharedRows;
  readonly key: DiffKey;
  readonly columns: ColumnsOfDiff;
}

async function matchRows({ before, after, unshared, key, columns }: HashedReading): Promise<RowMatcher> {
  const { compared, asText } = columns;
  const hasher = new RowHasher({ key: key.kind === 'columns' ? key.columns : ['_rowid'], row: compared, asText });
  const matcher = new RowMatcher(countRows(unshared.from));
  for await (const file of readRows(before, unshared.from)) hasher.visit(file, (row) => matcher.addBefore(row));
  for await (const file of readRows(after, unshared.to)) hasher.visit(file, (row) => matcher.addAfter(row));
  return matcher;
}

async function* readRows(reading: RowReading, { ranges, ids }: RowSet): AsyncGenerator<Buffer> {
  for (const range of ranges) yield* scanRows(reading, range);
  yield* takeRows(reading, ids);
}
