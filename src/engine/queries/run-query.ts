import { countResultRows, hideLastColumn } from '../../arrow/results/result-file.ts';
import type { ResultFiles } from '../../arrow/results/result-framing.ts';
import { dropUnusedValues } from '../../arrow/results/used-values.ts';
import type { Query } from '../../model/query.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeBatches, NativeQuery, NativeTable } from '../native/native.ts';
import type { QueryDeadline } from '../native/query-deadline.ts';
import type { EngineParts } from '../parts.ts';
import type { OpenTable } from '../tables/table-handle.ts';
import { buildQuery, hidesRowId, isHybrid, planQuery, requireOneSearch } from './native-query.ts';
import { chooseColumns, returnsRowId, runHybrid } from './hybrid-query.ts';
import { filterTextAfter } from './hybrid-legs.ts';
import type { QueryPlan } from './native-query.ts';
import { toMergeable } from '../shared-queries/merged-query.ts';
import type { QueryRun } from './query-run.ts';
import { FEW_ROWS } from './query-memory.ts';
import { reserveMemory } from './result-batches.ts';

/**
 * Starts a query and waits for its first batch, because failures must show before the first byte of the reply. Further
 * batches are read one by one; the table may be closed meanwhile.
 */
export async function startQuery(
  parts: EngineParts,
  { deadline, lease }: QueryRun,
  table: OpenTable,
  query: Query,
): Promise<ResultFiles> {
  const asked = await planQuery(parts, table, query);
  if (query.k === 0) return toEmptyResult(table.native, asked);
  const batchRows = await reserveMemory(parts, table.native, asked, { lease });
  if (isHybrid(asked)) return (await runHybrid(table.native, asked, batchRows)) ?? toEmptyResult(table.native, asked);
  const plan = await filterTextAfter(table.native, asked, batchRows);
  if (plan === undefined) return toEmptyResult(table.native, asked);
  const alone = async (): Promise<ResultFiles> => startPlan(table.native, plan, batchRows, deadline);
  const mergeable = lease.heldBytes === 0 ? toMergeable(plan) : undefined;
  if (mergeable === undefined) return alone();
  const empty = async (): Promise<ResultFiles> => toEmptyResult(table.native, plan);
  const readAll = async (merged: QueryPlan, bytesMax: number) => {
    return readToEnd(table.native, merged, { batchRows: mergedBatchRows(plan, batchRows), bytesMax });
  };
  return parts.sharedQueries.run(table.native, { ...mergeable, alone, empty, readAll });
}

async function startPlan(
  table: NativeTable,
  plan: QueryPlan,
  batchRows: number,
  deadline: QueryDeadline,
): Promise<ResultFiles> {
  const batches = await execute(table, plan, batchRows);
  const first = await engineCall(async () => batches.next());
  if (first === null) return toEmptyResult(table, plan);
  const rows = countResultRows(first);
  const show = toShown(plan);
  const head = show(first);
  return { head, files: isLast(plan, rows) ? [head] : readAhead(head, batches, { deadline, show }) };
}

/** Without the engine's timeout, which would include the time that the reader takes. */
async function execute(table: NativeTable, plan: QueryPlan, batchRows: number): Promise<NativeBatches> {
  return engineCall(async () => buildQuery(table, plan).execute(batchRows, null));
}

/**
 * A search reads in batches of this size. The rows of a lookup may be large and all belong to one key, so few are read
 * at once.
 */
function mergedBatchRows({ query, vectorColumn }: QueryPlan, batchRows: number): number {
  return vectorColumn === undefined ? Math.max(query.k ?? 0, FEW_ROWS) : batchRows;
}

interface WholeRead {
  readonly batchRows: number;
  readonly bytesMax: number;
}

/** `undefined` if the result is larger. */
async function readToEnd(
  table: NativeTable,
  plan: QueryPlan,
  { batchRows, bytesMax }: WholeRead,
): Promise<readonly Buffer[] | undefined> {
  const batches = await execute(table, plan, batchRows);
  const files: Buffer[] = [];
  let [rows, bytes] = [0, 0];
  while (!isLast(plan, rows)) {
    const file = await engineCall(async () => batches.next());
    if (file === null) break;
    bytes += file.length;
    if (bytes > bytesMax) return undefined;
    files.push(file);
    rows += countResultRows(file);
  }
  return files;
}

/** No batch follows once all requested rows were returned: k for each query vector. */
function isLast({ query }: QueryPlan, rows: number): boolean {
  return query.k !== undefined && rows >= query.k * Math.max(1, query.vectors.length);
}

/** Converts a file of the engine to what the reader gets. */
function toShown({ query }: QueryPlan): (file: Buffer) => Buffer {
  const hide = hidesRowId(query) ? hideLastColumn : (file: Buffer): Buffer => file;
  return (file) => dropUnusedValues(hide(file));
}

interface Reading {
  readonly deadline: QueryDeadline;
  readonly show: (file: Buffer) => Buffer;
}

/** Lets the engine read a batch while the reader processes the previous one. */
function readAhead(first: Buffer, batches: NativeBatches, { deadline, show }: Reading): AsyncIterable<Buffer> {
  const read = async (): Promise<Buffer | null> => engineCall(async () => batches.next());
  let pending: Promise<Buffer | null> | undefined;
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const file = pending === undefined ? first : await deadline.wait(pending);
        if (file === null) return { done: true, value: undefined };
        const value = pending === undefined ? first : show(file);
        pending = read();
        // The next call, if there is one, reports the failure.
        pending.catch(() => {});
        return { done: false, value };
      },
      async return() {
        if (pending !== undefined) deadline.leave(pending);
        return { done: true, value: undefined };
      },
    }),
  };
}

/** The engine returns no batch if there are no rows, so the schema is read separately. */
async function toEmptyResult(table: NativeTable, plan: QueryPlan): Promise<ResultFiles> {
  const { query, hidesLast } = buildSchemaQuery(table, plan);
  const schema = await engineCall(async () => query.outputSchema());
  return { head: hidesLast ? hideLastColumn(schema) : schema, files: [] };
}

interface SchemaQuery {
  readonly query: NativeQuery;
  readonly hidesLast: boolean;
}

function buildSchemaQuery(table: NativeTable, plan: QueryPlan): SchemaQuery {
  // The engine refuses a search for no neighbors; a search for one has the same schema.
  const wanted = { ...plan, query: { ...plan.query, k: Math.max(plan.query.k ?? 1, 1) } };
  if (!isHybrid(wanted)) return { query: buildQuery(table, wanted), hidesLast: hidesRowId(plan.query) };
  requireOneSearch(wanted);
  const query = table.query();
  query.select([...chooseColumns(wanted)]);
  return { query, hidesLast: !returnsRowId(wanted) };
}
