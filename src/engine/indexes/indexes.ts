import { ServiceError } from '../../errors/service-error.ts';
import { formatFieldPath, requireField } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import type { IndexDescription, IndexRequest, IndexSpec } from '../../model/index-spec.ts';
import type { Query } from '../../model/query.ts';
import type { TableState } from '../../model/table.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';
import type { QueryTimeout } from '../native/query-deadline.ts';
import type { EngineParts } from '../parts.ts';
import { buildScan, planQuery } from '../queries/native-query.ts';
import { runOnce } from '../queries/query-run.ts';
import { reserveMemory, runToEnd } from '../queries/result-batches.ts';
import { requireVectorColumn } from '../queries/vector-column.ts';
import { readSchema, readVersion } from '../tables/table-handle.ts';
import type { WriteTarget } from '../tables/table-handle.ts';
import { readTable } from '../versions/reads.ts';
import { findIndexes } from '../workarounds/branch-indexes.ts';
import { fitIndex } from './index-fit.ts';
import { toIndexDescription, toIndexStatistics, toNativeIndex } from './native-index.ts';
import { findDistance, isVectorIndex, openSample } from './search-sample.ts';
import type { SampleRequest } from './search-sample.ts';

export interface IndexCommit {
  readonly version: number;
}

export function createIndexesEngine(parts: EngineParts) {
  const { tables } = parts;
  return {
    /** Refuses an index that cannot be built on the current table. */
    check: async (target: WriteTarget, request: IndexRequest) =>
      tables.use(target, async ({ native }) => {
        await fitRequest(native, request);
      }),
    openBuild: async (target: WriteTarget) => openBuild(parts, target),
    /** The caller must close it. */
    openSample: async (target: WriteTarget, request: SampleRequest) => openSample(parts, target, request),
    list: async (state: TableState) => readTable(tables, state, async ({ native }) => listIndexes(native)),
    findStatistics: async (state: TableState, name: string) =>
      readTable(tables, state, async ({ native }) => {
        const statistics = await engineCall(async () => native.indexStats(name));
        return statistics === null ? undefined : toIndexStatistics(statistics);
      }),
    /** The distance of the index that a search would use; `undefined` if there is no index. */
    findDistance: async (state: TableState, query: Query) =>
      readTable(tables, state, async (table) => {
        const column = formatFieldPath(requireVectorColumn(query, await table.schema()).path);
        const indexes = (await listIndexes(table.native)).filter(isVectorIndex);
        const index = indexes.find(({ columns }) => columns.includes(column));
        return index && findDistance(table.native, index);
      }),
    /** Reads the index into the cache. */
    prewarm: async (state: TableState, name: string) =>
      readTable(tables, state, async ({ native }) => engineCall(async () => native.prewarmIndex(name))),
    prewarmColumns: async (state: TableState, columns: readonly FieldPath[], timeout: QueryTimeout) =>
      prewarmColumns(parts, state, columns, timeout),
  };
}

/**
 * Call it in the table's write queue, so that no build begins between two commits of a long write. The build may take
 * long. It has a private handle, and the engine commits the index on top of later commits, whose rows are kept but not
 * indexed.
 */
async function openBuild(parts: EngineParts, target: WriteTarget) {
  const native = await parts.tables.openPrivate(target);
  return {
    async build(request: IndexRequest): Promise<IndexCommit> {
      const { column, name, replace } = request;
      const index = toNativeIndex(parts.native.Index, parts.release, await fitRequest(native, request));
      await engineCall(async () => native.createIndex(index, formatFieldPath(column), replace, null, name, true));
      return { version: await readVersion(native) };
    },
    close: () => native.close(),
  };
}

async function fitRequest(native: NativeTable, request: IndexRequest): Promise<IndexSpec> {
  const rows = await engineCall(async () => native.countRows());
  const spec = fitIndex(request, await readSchema(native), rows);
  const indexes = await findIndexes(native);
  const same = indexes?.map(toIndexDescription).find(({ name }) => name === request.name);
  if (same === undefined) return spec;
  const isOnColumn = same.columns.length === 1 && same.columns[0] === formatFieldPath(request.column);
  if (isOnColumn && request.replace) return spec;
  const where = isOnColumn ? '' : ', on another column';
  throw new ServiceError(
    'TableIndexAlreadyExists',
    `The index ${JSON.stringify(request.name)} already exists${where}.`,
    { hint: 'Use another name, or drop that index first.' },
  );
}

async function listIndexes(native: NativeTable): Promise<readonly IndexDescription[]> {
  const indexes = await engineCall(async () => native.listIndices());
  return indexes.map(toIndexDescription);
}

/** Reads the columns once, which loads them into the page cache. Without names, reads all columns. */
async function prewarmColumns(
  parts: EngineParts,
  state: TableState,
  columns: readonly FieldPath[],
  timeout: QueryTimeout,
): Promise<void> {
  const query: Query = {
    vectors: [],
    prefilter: true,
    bypassVectorIndex: false,
    fastSearch: false,
    withRowId: false,
    ...(columns.length === 0 ? {} : { projection: { kind: 'names', paths: columns } as const }),
  };
  await runOnce(parts, timeout, async ({ lease }) =>
    readTable(parts.tables, state, async (table) => {
      const plan = await planQuery(parts, table, query);
      for (const path of columns) requireField(plan.schema, path);
      const batchRows = await reserveMemory(parts, table.native, plan, { lease });
      await runToEnd(buildScan(table.native, plan), batchRows, parts.querySeconds);
    }),
  );
}
