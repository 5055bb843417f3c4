import { countResultRows } from '../../arrow/results/result-file.ts';
import type { Schema } from '../../model/schema.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { NativeQuery, NativeTable } from '../native/native.ts';
import type { EngineParts } from '../parts.ts';
import type { OpenTable } from '../tables/table-handle.ts';
import { filterBatchBytes, filterBatchRows, filterReadBytes, measureFilter } from '../workarounds/wide-filters.ts';
import type { FilterSize } from '../workarounds/wide-filters.ts';
import type { QueryPlan } from './native-query.ts';
import {
  FILTER_ROWS,
  estimateFilter,
  estimateMemory,
  fixedRowBytes,
  hasFewRows,
  indexedRowBytes,
  isLongFilter,
  mayBeLarge,
  resultRowBytes,
  tooLongFilter,
  tooMuchMemory,
} from './query-memory.ts';
import type { TableSize } from './query-memory.ts';
import type { ReadLease } from './read-memory.ts';

const ROWS_MAX = 8192;
const ROWS_UNKNOWN = 1024;
/** The batch size of `analyzePlan`, which accepts none. */
export const ANALYZED_ROWS = 1024;

interface Reservation {
  readonly lease: ReadLease;
  /** Also counts batches of the engine's own size, without refusing them: few rows may pass the filter. */
  readonly ownBatchRows?: number;
}

/**
 * Reserves the memory of a query, or refuses it, and returns its batch size in rows. The engine limits batches only by
 * rows, and keeps several of them. Small queries reserve nothing.
 */
export async function reserveMemory(
  { limits, memory }: Pick<EngineParts, 'limits' | 'memory'>,
  table: NativeTable,
  plan: QueryPlan,
  { lease, ownBatchRows = 0 }: Reservation,
): Promise<number> {
  const filter = await measureFilter({ native: table, schema: plan.schema, readSize }, plan.query.filter);
  const batchRows = await reserveResult({ limits, memory }, table, plan, { lease, ownBatchRows, filter });
  return Math.min(batchRows, filterBatchRows(filter));
}

/** No query is refused for its filter: an index may answer it. */
async function reserveResult(
  { limits, memory }: Pick<EngineParts, 'limits' | 'memory'>,
  table: NativeTable,
  plan: QueryPlan,
  { lease, ownBatchRows, filter }: Required<Reservation> & { readonly filter: FilterSize },
): Promise<number> {
  const { memoryPerRequestBytesMax } = memory.limits;
  const filterRows = filterBatchRows(filter);
  const reserve = async (estimated: number, heldBytes: number): Promise<void> => {
    const filterBytes = filterBatchBytes(filter, Math.max(filterRows, ownBatchRows));
    const bytes = Math.min(estimated + filterBytes, memoryPerRequestBytesMax);
    if (bytes >= UNCOUNTED_BYTES) await lease.reserve(bytes, heldBytes);
  };
  const isLarge = mayBeLarge(plan);
  // A search also reads in batches of this size: small ones make it ten times slower.
  const fewRows = plan.vectorColumn === undefined && plan.search === undefined ? ROWS_UNKNOWN : ROWS_MAX;
  const fixed = fixedRowBytes(plan.query, plan.schema);
  if (!isLarge && (hasFewRows(plan) || fixed !== undefined)) {
    await reserve(filterReadBytes(filter), 0);
    return hasFewRows(plan) || fixed === undefined ? fewRows : rowsIn(limits.resultBatchBytes, fixed);
  }

  const size = await readSize(table);
  const chosen = hasFewRows(plan) ? fewRows : chooseBatchRows(plan, size, limits.resultBatchBytes);
  const batchRows = Math.min(chosen, filterRows);
  const estimate = estimateMemory(plan, size, batchRows);
  if (estimate.bytes > memoryPerRequestBytesMax) throw tooMuchMemory(plan, estimate, memoryPerRequestBytesMax);
  const counted = estimateMemory(plan, size, Math.max(batchRows, ownBatchRows));
  await reserve(counted.bytes, counted.heldRows * counted.rowBytes);
  const indexed = indexedRowBytes(plan);
  return indexed === undefined ? batchRows : Math.max(batchRows, rowsIn(limits.resultBatchBytes, indexed));
}

/** Counts the rows that match. */
export async function countMatches(
  parts: Pick<EngineParts, 'memory'>,
  table: OpenTable,
  filter: GuardedSql,
  lease: ReadLease,
): Promise<number> {
  const schema = await table.schema();
  const size = await measureFilter({ native: table.native, schema, readSize }, filter);
  await reserveForFilter(parts, { table, schema, filter, size }, lease);
  const batchRows = filterBatchRows(size);
  // The engine counts in batches of a fixed size.
  if (batchRows >= FILTER_ROWS) return engineCall(async () => table.native.countRows(filter));
  const query = table.native.query();
  query.onlyIf(filter);
  query.selectColumns(['_rowid']);
  query.withRowId();
  return countBatches(query, batchRows);
}

interface CountedFilter {
  readonly table: OpenTable;
  readonly schema: Schema;
  readonly filter: GuardedSql;
  readonly size: FilterSize;
}

async function reserveForFilter(
  { memory }: Pick<EngineParts, 'memory'>,
  { table, schema, filter, size }: CountedFilter,
  lease: ReadLease,
): Promise<void> {
  const { memoryPerRequestBytesMax } = memory.limits;
  const long = isLongFilter(filter) ? estimateFilter(filter, schema, await readSize(table.native)) : 0;
  if (long > memoryPerRequestBytesMax) throw tooLongFilter(long, memoryPerRequestBytesMax);
  const filterBytes = filterReadBytes(size) + filterBatchBytes(size);
  const bytes = Math.min(long + filterBytes, memoryPerRequestBytesMax);
  if (bytes >= UNCOUNTED_BYTES) await lease.reserve(bytes, 0);
}

async function countBatches(query: NativeQuery, batchRows: number): Promise<number> {
  return engineCall(async () => {
    const batches = await query.execute(batchRows, null);
    let rows = 0;
    for (let file = await batches.next(); file !== null; file = await batches.next()) rows += countResultRows(file);
    return rows;
  });
}

/** Below this, reserving would only make small queries wait for large ones. */
const UNCOUNTED_BYTES = 8 * 1024 * 1024;
/** Stored rows are compressed, and may be far smaller than those that are sent. */
const VARIABLE_ROW_BYTES_MIN = 2048;

function chooseBatchRows(plan: QueryPlan, size: TableSize, batchBytes: number): number {
  const fixed = fixedRowBytes(plan.query, plan.schema);
  if (fixed !== undefined) return rowsIn(batchBytes, fixed);
  if (size.rows === 0) return ROWS_UNKNOWN;
  return rowsIn(batchBytes, Math.max(resultRowBytes(plan, size), VARIABLE_ROW_BYTES_MIN));
}

function rowsIn(batchBytes: number, rowBytes: number): number {
  return Math.min(Math.max(Math.floor(batchBytes / Math.max(rowBytes, 1)), 1), ROWS_MAX);
}

export async function readSize(table: NativeTable): Promise<TableSize> {
  const { totalBytes, numRows } = await engineCall(async () => table.stats());
  return { rows: numRows, bytes: totalBytes };
}

/** Runs a query only for its effect or its failure; drops the rows. */
export async function runToEnd(query: NativeQuery, batchRows: number, seconds: number): Promise<void> {
  await engineCall(async () => {
    const batches = await query.execute(batchRows, Math.ceil(seconds * 1000));
    while ((await batches.next()) !== null);
  });
}
