import { formatFieldPath, requireField } from '../model/field-path.ts';
import type { FieldPath } from '../model/field-path.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { IndexDescription, IndexRequest, IndexSpec, IndexStatistics } from '../model/index-spec.ts';
import type { TableState } from '../model/table.ts';
import { engineCall } from './engine-errors.ts';
import { toIndexDescription, toIndexStatistics } from './index-descriptions.ts';
import { fitIndex } from './index-fit.ts';
import { indexNotFound } from './index-rules.ts';
import { toNativeIndex } from './native-index.ts';
import type { NativeTable } from './native.ts';
import { readSchema } from './open-table.ts';
import type { EngineParts } from './parts.ts';
import { retryConflicts, toWriteState, writeInLane } from './table-writes.ts';
import type { WriteTarget } from './table-writes.ts';
import { trackSync } from './track-sync.ts';

/** Indexes of tables. */
export interface IndexesEngine {
  /** Refuses what cannot be built on the table as it is now. */
  check(target: WriteTarget, request: IndexRequest): Promise<void>;
  /**
   * May take long. Other writers of the table go on meanwhile: what they commit is kept, and is not in the index. `enter`
   * is told what comes next, and may throw to stop there.
   */
  build(target: WriteTarget, request: IndexRequest, enter: (phase: string) => void): Promise<IndexCommit>;
  list(state: TableState): Promise<readonly IndexDescription[]>;
  findStatistics(state: TableState, name: string): Promise<IndexStatistics | undefined>;
  drop(target: WriteTarget, name: string): Promise<IndexCommit>;
  /** Reads the index into the cache. */
  prewarm(state: TableState, name: string): Promise<void>;
  /** Reads the columns once, so that the machine has them in memory. None named: all of them. */
  prewarmColumns(state: TableState, columns: readonly FieldPath[]): Promise<void>;
}

export interface IndexCommit {
  readonly version: number;
}

export function createIndexesEngine(parts: EngineParts): IndexesEngine {
  const { tables } = parts;
  return {
    check: async (target, request) =>
      tables.use(toWriteState(target), async ({ native }) => {
        await fitRequest(native, request);
      }),
    build: async (target, request, enter) =>
      parts.builds.track(
        target.place,
        trackSync(parts.storages, target.place, async (begin) => {
          await begin();
          return buildIndex(parts, target, request, enter);
        }),
      ),
    list: async (state) => tables.use(state, async ({ native }) => listIndexes(native)),
    findStatistics: async (state, name) => tables.use(state, async ({ native }) => findStatistics(native, name)),
    drop: async (target, name) => dropIndex(parts, target, name),
    prewarm: async (state, name) =>
      tables.use(state, async ({ native }) => engineCall(async () => native.prewarmIndex(name))),
    prewarmColumns: async (state, columns) => prewarmColumns(parts, state, columns),
  };
}

/**
 * Beside the lane: the engine commits an index over whatever was committed since the build began, so that only an
 * overwrite, which makes the work worthless, starts it again. The lane is taken while the table is opened: no build begins
 * between two chunks of a large write.
 */
async function buildIndex(
  parts: EngineParts,
  target: WriteTarget,
  request: IndexRequest,
  enter: (phase: string) => void,
): Promise<IndexCommit> {
  const { lanes, tables, limits } = parts;
  return retryConflicts(limits.writeAttemptsMax, async () => {
    enter('opening');
    const native = await lanes.runUnsynced(target.place, async () => tables.openAlone(toWriteState(target)));
    try {
      const spec = await fitRequest(native, request);
      enter('building');
      await commitIndex(parts, native, { ...request, spec });
      return { version: await engineCall(async () => native.version()) };
    } finally {
      native.close();
    }
  });
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

async function dropIndex(parts: EngineParts, target: WriteTarget, name: string): Promise<IndexCommit> {
  return writeInLane(parts, target, async (table) => {
    const { native } = table;
    const before = await listIndexes(native);
    if (!before.some((index) => index.name === name)) throw new ServiceError('TableIndexNotFound', indexNotFound(name));
    await engineCall(async () => native.dropIndex(name));
    table.forget();
    return { version: await engineCall(async () => native.version()) };
  });
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
