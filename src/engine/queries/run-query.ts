import { countResultRows, hideLastColumn } from '../../arrow/results/result-file.ts';
import type { ResultFiles } from '../../arrow/results/result-framing.ts';
import { sqlFieldReference } from '../../model/field-path.ts';
import type { Query } from '../../model/query.ts';
import { chooseBatchRows } from './result-batches.ts';
import type { QueryDeadline } from '../native/query-deadline.ts';
import { engineCall } from '../native/engine-errors.ts';
import { requireOneSearch } from '../plans/hybrid-analysis.ts';
import { buildScan, buildVectorSearch, hidesRowId, planQuery } from './native-query.ts';
import type { QueryPlan } from './native-query.ts';
import type { NativeBatches, NativeEngine, NativeQueryBase, NativeTable } from '../native/native.ts';
import type { OpenTable } from '../tables/table-handle.ts';

export interface QueryRun {
  readonly native: NativeEngine;
  readonly batchBytes: number;
  readonly time: QueryDeadline;
}

/**
 * Starts a query and waits for its first batch, so that what is wrong with it shows before anything is sent. The rest is
 * pulled batch by batch; the table may be closed meanwhile.
 */
export async function startQuery(run: QueryRun, table: OpenTable, query: Query): Promise<ResultFiles> {
  const plan = await planQuery(run.native, table, query);
  if (query.k === 0) return toEmptyResult(table.native, plan);
  const batchRows = await chooseBatchRows(table.native, plan, run.batchBytes);
  // The engine's own time limit would count the time that the reader takes.
  const batches = await engineCall(async () => build(table.native, plan).execute(batchRows, null));
  const first = await engineCall(async () => batches.next());
  if (first === null || (isHybrid(plan) && countResultRows(first) === 0)) return toEmptyResult(table.native, plan);
  return shown(plan, { head: first, files: pull(first, batches, run.time) });
}

function build(table: NativeTable, plan: QueryPlan): NativeQueryBase {
  const { vectorColumn, search } = plan;
  if (vectorColumn === undefined) return buildScan(table, plan);
  const native = buildVectorSearch(table, plan, vectorColumn);
  if (search === undefined) return native;
  requireOneSearch(plan.query, vectorColumn);
  // Without a reranker of the caller's, the engine fuses by reciprocal rank.
  native.fullTextSearch(search);
  return native;
}

async function* pull(first: Buffer, batches: NativeBatches, time: QueryDeadline): AsyncGenerator<Buffer> {
  for (let file: Buffer | null = first; file !== null;) {
    yield file;
    file = await time.wait(engineCall(async () => batches.next()));
  }
}

/** The engine makes no batch of no rows, so the schema is asked for. */
async function toEmptyResult(table: NativeTable, plan: QueryPlan): Promise<ResultFiles> {
  const head = await engineCall(async () => buildSchemaQuery(table, plan).outputSchema());
  return shown(plan, { head, files: noFiles() });
}

async function* noFiles(): AsyncGenerator<Buffer> {}

function buildSchemaQuery(table: NativeTable, plan: QueryPlan): NativeQueryBase {
  // A search for no neighbours is refused, and has the same schema as one for one.
  const query: Query = { ...plan.query, k: Math.max(plan.query.k ?? 1, 1) };
  if (!isHybrid(plan)) return build(table, { ...plan, query });
  if (plan.vectorColumn !== undefined) requireOneSearch(query, plan.vectorColumn);
  return buildFusedSchema(table, plan);
}

/** The engine does not tell the schema of a fused search, so a scan is made that has it. */
function buildFusedSchema(table: NativeTable, { query, schema }: QueryPlan): NativeQueryBase {
  const native = table.query();
  const columns: (readonly [string, string])[] = [];
  if (query.projection === undefined) {
    for (const { name } of schema.fields) columns.push([name, sqlFieldReference([name])]);
  } else if (query.projection.kind === 'aliases') {
    columns.push(...query.projection.columns);
  } else {
    for (const path of query.projection.paths) columns.push([path.join('.'), sqlFieldReference(path)]);
  }
  const shownColumns = columns.filter(([name]) => !ADDED_BY_FUSION.has(name));
  const rowId = query.withRowId ? ([['_rowid', '_rowid']] as const) : [];
  native.select([
    ...shownColumns,
    ['_score', 'CAST(NULL AS FLOAT)'],
    ...rowId,
    ['_relevance_score', 'CAST(0 AS FLOAT)'],
  ]);
  return native;
}

const ADDED_BY_FUSION: ReadonlySet<string> = new Set(['_score', '_rowid', '_distance', '_relevance_score']);

function isHybrid({ vectorColumn, search }: QueryPlan): boolean {
  return vectorColumn !== undefined && search !== undefined;
}

/** Takes the row id away again where only the engine wanted it. */
function shown(plan: QueryPlan, { head, files }: ResultFiles): ResultFiles {
  if (!hidesRowId(plan.query)) return { head, files };
  // The first file is its own head: it must not lose a column twice.
  return { head: hideLastColumn(Buffer.from(head)), files: mapFiles(files) };
}

async function* mapFiles(files: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const file of files) yield hideLastColumn(file);
}
