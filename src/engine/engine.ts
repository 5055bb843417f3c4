import type { CheckedStream } from '../arrow/stream/checked-stream.ts';
import { pullChunks } from '../arrow/stream/chunk-source.ts';
import type { Query } from '../model/query.ts';
import type { Schema } from '../model/schema.ts';
import type { CommitKind, TableLocation, TableState } from '../model/table.ts';
import { createCommitsEngine } from './commits/commits.ts';
import { createComputedEngine } from './computed/computed.ts';
import { requireRowsFit } from './computed/definitions.ts';
import { toFirstAddress } from './computed/recomputing-update.ts';
import { createIndexesEngine } from './indexes/indexes.ts';
import { createMaintenanceEngine } from './maintenance.ts';
import { engineCall, isRetryableConflict } from './native/engine-errors.ts';
import { loadNative } from './native/native.ts';
import type { QueryTimeout } from './native/query-deadline.ts';
import { openParts } from './parts.ts';
import type { EngineParts, EngineSettings } from './parts.ts';
import { analyzeQuery } from './plans/query-plans.ts';
import { createRowsEngine } from './queries/rows.ts';
import { findTables } from './tables/find-tables.ts';
import { createLifecycleEngine } from './tables/lifecycle.ts';
import type { OpenTable, WriteTarget } from './tables/table-handle.ts';
import { createTable } from './tables/write-table.ts';
import { readStates } from './versions/reads.ts';
import { createVersionsEngine } from './versions/versions.ts';

export type { AppendedRows } from './commits/append.ts';
export type { ColumnAlteration, NewColumn, NewComputedColumn } from './commits/columns.ts';
export type { VectorConversion } from './commits/vectors-from-lists.ts';
export type { UpdatedRows } from './updates/update.ts';
export type { CommitGroup, CommitPlan, Committed, MultiCommitPlan, PreparedCommit } from './commits/commit-plan.ts';
export type { FillRequest, FilledRows } from './computed/fill.ts';
export type { MergeCounts, MergeRequest } from './commits/merge.ts';
export type { FieldMetadataEntry } from './commits/metadata.ts';
export type { PublishedManifest, SubmittedPlan } from './commits/submitted.ts';
export type { DiffRequest, VersionDiff } from './diffs/diff-versions.ts';
export type { IndexCommit } from './indexes/indexes.ts';
export type { SearchSample } from './indexes/search-sample.ts';
export type { Condition, Optimization, OptimizeRequest } from './maintenance.ts';
export type { EngineRelease } from './native/engine-release.ts';
export type { EngineSettings } from './parts.ts';
export type { OpenTable, WriteTarget } from './tables/table-handle.ts';
export type { WriteOutcome } from './tables/write-table.ts';
export type { UpdateRequest } from './updates/update.ts';
export type { TableVersion, VersionRange } from './versions/versions.ts';

export type Engine = Awaited<ReturnType<typeof openEngine>>;

/**
 * Rows, versions and plans of tables on storage. Each call sees what earlier calls acknowledged. The order of writes
 * and their durability are the job of the write pipeline, which calls this.
 */
export async function openEngine(settings: EngineSettings, native = loadNative()) {
  const parts = openParts(native, settings);
  const { bulkLimit, connections, memory, orphans, release, scratch, tables, threads } = parts;
  return {
    release,
    versions: createVersionsEngine(parts),
    rows: createRowsEngine(parts),
    lifecycle: createLifecycleEngine(parts),
    indexes: createIndexesEngine(parts),
    commits: createCommitsEngine(parts),
    computed: createComputedEngine(parts),
    views: createViewsEngine(parts),
    maintenance: createMaintenanceEngine(parts),
    /** The location must be new; after a failure nothing is left there. */
    async createTable(
      location: TableLocation,
      stream: CheckedStream,
      storageOptions: Readonly<Record<string, string>>,
    ) {
      const source = { ...(await pullChunks(stream, 0)), limit: bulkLimit };
      return createTable(connections, { location, schema: stream.schema, source, storageOptions });
    },
    describeTable: async (state: TableState) => readStates(tables, [state], async () => tables.describe(state)),
    analyzeQuery: async (state: TableState, query: Query, timeout?: QueryTimeout) =>
      analyzeQuery(parts, state, query, timeout),
    /** The latest state of a branch, for work that commits to it. */
    useLatest: async <Value>(target: WriteTarget, work: (table: OpenTable) => Promise<Value>) =>
      tables.use(target, work),
    /** Refuses rows that do not fit the current table. */
    async requireFit(target: WriteTarget, schema: Schema) {
      requireRowsFit(parts, schema, (await tables.describe(target)).schema);
    },
    /** `undefined` if there is no data. */
    findLatestVersion: async (target: WriteTarget) => tables.findLatestVersion(target),
    /** Whether another writer committed first: the same write may succeed on the newer version. */
    isConflict: isRetryableConflict,
    /** From now on, readers of the latest version get this one. */
    holdReaders: async (target: WriteTarget, version: number) => tables.hold(target, version),
    releaseReaders: (target: WriteTarget) => tables.release(target),
    releaseAllReaders: () => tables.releaseAll(),
    /** Runs a large write. Only a few run at once, because each uses much memory inside the engine. */
    runBulk: async <Value>(work: () => Promise<Value>) => bulkLimit(work),
    /** Commits the contents of an earlier version again, and returns the new version. */
    restoreVersion: async (target: WriteTarget, version: number, baseVersion?: number) =>
      tables.restoreVersion(target, version, baseVersion),
    /** Missing data is not an error. */
    async dropTable(location: TableLocation) {
      tables.evict(location);
      await connections.dropTable(location);
    },
    /** Known directories are skipped without being opened. */
    findTables: async (root: string, isKnown: (directory: string) => boolean) => findTables(connections, root, isKnown),
    /** Current numbers, and hits and misses since the start. */
    counts: () => ({
      orphanedQueries: orphans.count,
      sharedQueries: parts.sharedQueries.shared,
      openTables: tables.counts(),
      readMemory: { usedBytes: memory.usedBytes, bytesMax: memory.limits.memoryBytesMax },
    }),
    /** Resolves if the engine's threads respond; never while they are stuck. */
    async probe() {
      // Any asynchronous call waits for an engine thread; this one needs nothing else.
      await engineCall(async () => native.RrfReranker.tryNew(Float32Array.of(1)));
    },
    async close() {
      threads.close();
      parts.trials?.close();
      await tables.close();
      await scratch.close();
      await connections.close();
    },
  };
}

/** Commits that neither change nor move existing rows. */
const KEEPS_ROWS: ReadonlySet<CommitKind> = new Set(['append', 'index', 'drop-index', 'config', 'reserve']);

/** For rows that are derived from another table. */
function createViewsEngine({ storages }: EngineParts) {
  return {
    /**
     * The lowest address of the rows added between two versions of the main branch, if all commits were appends;
     * `undefined` if that is not certain, for example because old versions were removed.
     */
    async findAppended(
      location: TableLocation,
      { from, to }: { readonly from: number; readonly to: number },
    ): Promise<bigint | undefined> {
      if (from >= to) return undefined;
      const storage = storages.of(location.root);
      const last = await storage.readLastFragment(location, undefined, from);
      const later = (await storage.readCommits(location, undefined, from)) ?? [];
      const between = later.filter(({ version }) => version <= to);
      if (last === undefined || between.length !== to - from) return undefined;
      return between.every(({ kind }) => KEEPS_ROWS.has(kind)) ? toFirstAddress(last) : undefined;
    },
  };
}
