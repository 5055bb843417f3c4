import { countResultRows, hideLastColumn } from '../../arrow/results/result-file.ts';
import type { ResultFiles } from '../../arrow/results/result-framing.ts';
import { sqlFieldReference } from '../../model/field-path.ts';
import type { Query } from '../../model/query.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeBatches, NativeQuery, NativeTable } from '../native/native.ts';
import type { QueryDeadline } from '../native/query-deadline.ts';
import type { EngineParts } from '../parts.ts';
import type { OpenTable } from '../tables/table-handle.ts';
import { buildQuery, hidesRowId, isHybrid, planQuery, requireOneSearch } from './native-query.ts';
import type { QueryPlan } from './native-query.ts';
import { chooseBatchRows } from './result-batches.ts';

/**
 * Starts a query and waits for its first batch: a failure must show before the first byte of the reply is sent. The rest
 * is pulled batch by batch; the table may be closed meanwhile.
 */
export async function startQuery(
  parts: EngineParts,
  deadline: QueryDeadline,
  table: OpenTable,
  query: Query,
): Promise<ResultFiles> {
  const plan = await planQuery(parts, table, query);
  if (query.k === 0) return toEmptyResult(table.native, plan);
  const batchRows = await chooseBatchRows(table.native, plan, parts.limits.resultBatchBytes);
  // The engine's own timeout would count the time that the reader takes.
  const batches = await engineCall(async () => build(table.native, plan).execute(batchRows, null));
  const first = await engineCall(async () => batches.next());
  if (first === null || (isHybrid(plan) && countResultRows(first) === 0)) return toEmptyResult(table.native, plan);
  return shown(plan, { head: first, files: pull(first, batches, deadline) });
}

function build(table: NativeTable, plan: QueryPlan): NativeQuery {
  const native = buildQuery(table, plan);
  if (!isHybrid(plan)) return native;
  requireOneSearch(plan);
  // Without a reranker of the caller's, the engine fuses by reciprocal rank.
  native.fullTextSearch(plan.search);
  return native;
}

async function* pull(first: Buffer, batches: NativeBatches, deadline: QueryDeadline): AsyncGenerator<Buffer> {
  for (let file: Buffer | null = first; file !== null;) {
    yield file;
    file = await deadline.wait(engineCall(async () => batches.next()));
  }
}

/** The engine returns no batch when there are no rows, so the schema is read. */
async function toEmptyResult(table: NativeTable, plan: QueryPlan): Promise<ResultFiles> {
  const head = await engineCall(async () => buildSchemaQuery(table, plan).outputSchema());
  return shown(plan, { head, files: noFiles() });
}

async function* noFiles(): AsyncGenerator<Buffer> {}

function buildSchemaQuery(table: NativeTable, plan: QueryPlan): NativeQuery {
  // A search for no neighbours is refused, and has the same schema as one for one.
  const wanted = { ...plan, query: { ...plan.query, k: Math.max(plan.query.k ?? 1, 1) } };
  if (!isHybrid(wanted)) return build(table, wanted);
  requireOneSearch(wanted);
  return buildFusedSchema(table, plan);
}

/** The engine does not report the schema of a fused search, so this builds a scan with the same schema. */
function buildFusedSchema(table: NativeTable, { query, schema }: QueryPlan): NativeQuery {
  const { projection = { kind: 'names', paths: schema.fields.map(({ name }) => [name] as const) } as const } = query;
  const columns: [string, string][] =
    projection.kind === 'aliases'
      ? projection.columns.map(([alias, expression]) => [alias, expression])
      : projection.paths.map((path) => [path.join('.'), sqlFieldReference(path)]);
  const rowId: [string, string][] = query.withRowId ? [['_rowid', '_rowid']] : [];
  const native = table.query();
  native.select([
    ...columns.filter(([name]) => !ADDED_BY_FUSION.has(name)),
    ['_score', 'CAST(NULL AS FLOAT)'],
    ...rowId,
    ['_relevance_score', 'CAST(0 AS FLOAT)'],
  ]);
  return native;
}

const ADDED_BY_FUSION: ReadonlySet<string> = new Set(['_score', '_rowid', '_distance', '_relevance_score']);

/** Removes the row id where only the engine needed it. */
function shown(plan: QueryPlan, { head, files }: ResultFiles): ResultFiles {
  if (!hidesRowId(plan.query)) return { head, files };
  // The first file is also the head: it must not lose a column twice.
  return { head: hideLastColumn(Buffer.from(head)), files: mapFiles(files) };
}

async function* mapFiles(files: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const file of files) yield hideLastColumn(file);
}
