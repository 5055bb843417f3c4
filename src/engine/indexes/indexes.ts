import { formatFieldPath, requireField } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import { ServiceError } from '../../errors/service-error.ts';
import type { IndexDescription, IndexRequest, IndexSpec, IndexStatistics } from '../../model/index-spec.ts';
import type { TableState } from '../../model/table.ts';
import { engineCall } from '../native/engine-errors.ts';
import { toIndexDescription, toIndexStatistics, toNativeIndex } from './native-index.ts';
import { fitIndex } from './index-fit.ts';
import type { NativeTable } from '../native/native.ts';
import { readSchema } from '../tables/table-handle.ts';
import type { EngineParts } from '../parts.ts';
import { toWriteState } from '../commits/commit-target.ts';
import type { WriteTarget } from '../commits/commit-target.ts';

/** Indexes of tables. */
export interface IndexesEngine {
  /** Refuses what cannot be built on the table as it is now. */
  check(target: WriteTarget, request: IndexRequest): Promise<void>;
  /** To be called in the table's queue: no build begins between two commits of a long write. */
  openBuild(target: WriteTarget): Promise<IndexBuild>;
  list(state: TableState): Promise<readonly IndexDescription[]>;
  findStatistics(state: TableState, name: string): Promise<IndexStatistics | undefined>;
  /** Reads the index into the cache. */
  prewarm(state: TableState, name: string): Promise<void>;
  /** Reads the columns once, so that the machine has them in memory. None named: all of them. */
  prewarmColumns(state: TableState, columns: readonly FieldPath[]): Promise<void>;
}

export interface IndexCommit {
  readonly version: number;
}

/** May take long. Other writers of the table go on meanwhile: what they commit is kept, and is not in the index. */
export interface IndexBuild {
  build(request: IndexRequest): Promise<IndexCommit>;
  close(): void;
}

export function createIndexesEngine(parts: EngineParts): IndexesEngine {
  const { tables } = parts;
  return {
    check: async (target, request) =>
      tables.use(toWriteState(target), async ({ native }) => {
        await fitRequest(native, request);
      }),
    openBuild: async (target) => openBuild(parts, target),
    list: async (state) => tables.use(state, async ({ native }) => listIndexes(native)),
    findStatistics: async (state, name) => tables.use(state, async ({ native }) => findStatistics(native, name)),
    prewarm: async (state, name) =>
      tables.use(state, async ({ native }) => engineCall(async () => native.prewarmIndex(name))),
    prewarmColumns: async (state, columns) => prewarmColumns(parts, state, columns),
  };
}

/** A handle that the build has alone: the engine commits an index over whatever was committed since it was opened. */
async function openBuild(parts: EngineParts, target: WriteTarget): Promise<IndexBuild> {
  const native = await parts.tables.openPrivate(toWriteState(target));
  return {
    async build(request) {
      const spec = await fitRequest(native, request);
      await commitIndex(parts, native, { ...request, spec });
      return { version: await engineCall(async () => native.version()) };
    },
    close: () => native.close(),
  };
}

async function commitIndex(parts: EngineParts, native: NativeTable, request: IndexRequest): Promise<void> {
  const { column, name, replace, spec } = request;
  const index = toNativeIndex(parts.native.Index, spec);
  await engineCall(async () => native.createIndex(index, formatFieldPath(column), replace, null, name, true));
}

async function fitRequest(native: NativeTable, request: IndexRequest): Promise<IndexSpec> {
  const rows = await engineCall(async () => native.countRows());
  const spec = fitIndex(request, await readSchema(native), rows);
  const indexes = await listIndexes(native);
  const same = indexes.find(({ name }) => name === request.name);
  if (same === undefined) return spec;
  const isOnColumn = same.columns.length === 1 && same.columns[0] === formatFieldPath(request.column);
  if (isOnColumn && request.replace) return spec;
  const where = isOnColumn ? '' : ', on another column';
  throw new ServiceError(
    'TableIndexAlreadyExists',
    `The index ${JSON.stringify(request.name)} already exists${where}.`,
    {
      hint: 'Give another name, or drop that index first.',
    },
  );
}

async function listIndexes(native: NativeTable): Promise<readonly IndexDescription[]> {
  const indexes = await engineCall(async () => native.listIndices());
  return indexes.map(toIndexDescription);
}

async function findStatistics(native: NativeTable, name: string): Promise<IndexStatistics | undefined> {
  const statistics = await engineCall(async () => native.indexStats(name));
  return statistics === null ? undefined : toIndexStatistics(statistics);
}

async function prewarmColumns(parts: EngineParts, state: TableState, columns: readonly FieldPath[]): Promise<void> {
  await parts.tables.use(state, async (table) => {
    const schema = await table.schema();
    for (const path of columns) requireField(schema, path);
    const query = table.native.query();
    if (columns.length > 0) query.selectColumns(columns.map(formatFieldPath));
    await engineCall(async () => {
      const batches = await query.execute(BATCH_ROWS_MAX, Math.ceil(parts.querySeconds * 1000));
      while ((await batches.next()) !== null);
    });
  });
}

const BATCH_ROWS_MAX = 8192;
