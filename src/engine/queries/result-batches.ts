import { engineCall } from '../native/engine-errors.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { NativeQuery, NativeTable } from '../native/native.ts';
import type { EngineParts } from '../parts.ts';
import type { OpenTable } from '../tables/table-handle.ts';
import type { QueryPlan } from './native-query.ts';
import {
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
  const isLarge = mayBeLarge(plan);
  // A search also reads in batches of this size: small ones make it ten times slower.
  const fewRows = plan.vectorColumn === undefined && plan.search === undefined ? ROWS_UNKNOWN : ROWS_MAX;
  if (!isLarge && hasFewRows(plan)) return fewRows;
  const fixed = fixedRowBytes(plan.query, plan.schema);
  if (!isLarge && fixed !== undefined) return rowsIn(limits.resultBatchBytes, fixed);

  const size = await readSize(table);
  const batchRows = hasFewRows(plan) ? fewRows : chooseBatchRows(plan, size, limits.resultBatchBytes);
  const estimate = estimateMemory(plan, size, batchRows);
  const { memoryPerRequestBytesMax } = memory.limits;
  if (estimate.bytes > memoryPerRequestBytesMax) throw tooMuchMemory(plan, estimate, memoryPerRequestBytesMax);
  const counted = estimateMemory(plan, size, Math.max(batchRows, ownBatchRows));
  const bytes = Math.min(counted.bytes, memoryPerRequestBytesMax);
  if (bytes >= UNCOUNTED_BYTES) await lease.reserve(bytes, counted.heldRows * counted.rowBytes);
  const indexed = indexedRowBytes(plan);
  return indexed === undefined ? batchRows : Math.max(batchRows, rowsIn(limits.resultBatchBytes, indexed));
}

/** For a count, which holds no rows. */
export async function reserveForFilter(
  { memory }: Pick<EngineParts, 'memory'>,
  table: OpenTable,
  filter: GuardedSql,
  lease: ReadLease,
): Promise<void> {
  if (!isLongFilter(filter)) return;
  const bytes = estimateFilter(filter, await table.schema(), await readSize(table.native));
  const { memoryPerRequestBytesMax } = memory.limits;
  if (bytes > memoryPerRequestBytesMax) throw tooLongFilter(bytes, memoryPerRequestBytesMax);
  if (bytes >= UNCOUNTED_BYTES) await lease.reserve(bytes, 0);
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
