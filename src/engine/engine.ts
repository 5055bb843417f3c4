import type { CheckedStream } from '../arrow/stream/checked-stream.ts';
import { pullChunks } from '../arrow/stream/chunk-source.ts';
import type { Analysis, Query } from '../model/query.ts';
import type { Schema } from '../model/schema.ts';
import type { TableLocation, TableState } from '../model/table.ts';
import { createCommitsEngine } from './commits/commits.ts';
import type { CommitsEngine } from './commits/commits.ts';
import { requireFit } from './commits/schema-fit.ts';
import { createIndexesEngine } from './indexes/indexes.ts';
import type { IndexesEngine } from './indexes/indexes.ts';
import { createMaintenanceEngine } from './maintenance.ts';
import type { MaintenanceEngine } from './maintenance.ts';
import { engineCall, isRetryableConflict } from './native/engine-errors.ts';
import { loadNative } from './native/native.ts';
import type { QueryTimeout } from './native/query-deadline.ts';
import { openParts } from './parts.ts';
import type { EngineParts, EngineSettings } from './parts.ts';
import { analyzeQuery } from './plans/query-plans.ts';
import { createRowsEngine } from './queries/rows.ts';
import type { RowsEngine } from './queries/rows.ts';
import { findTables } from './tables/find-tables.ts';
import type { FoundTable } from './tables/find-tables.ts';
import { createLifecycleEngine } from './tables/lifecycle.ts';
import type { LifecycleEngine } from './tables/lifecycle.ts';
import type { TableDescription } from './tables/open-tables.ts';
import type { OpenTable, WriteTarget } from './tables/table-handle.ts';
import { createTable } from './tables/write-table.ts';
import type { WriteOutcome } from './tables/write-table.ts';
import { createVersionsEngine } from './versions/versions.ts';
import type { VersionsEngine } from './versions/versions.ts';

export type { AppendedRows } from './commits/append.ts';
export type { ColumnAlteration, NewColumn } from './commits/columns.ts';
export type { CommitGroup, CommitPlan, Committed, MultiCommitPlan, PreparedCommit } from './commits/commit-plan.ts';
export type { MergeCounts, MergeRequest } from './commits/merge.ts';
export type { FieldMetadataEntry } from './commits/metadata.ts';
export type { IndexCommit } from './indexes/indexes.ts';
export type { Condition, Optimization, OptimizeRequest, VersionAge } from './maintenance.ts';
export type { EngineSettings } from './parts.ts';
export type { OpenTable, WriteTarget } from './tables/table-handle.ts';
export type { WriteOutcome } from './tables/write-table.ts';
export type { UpdateRequest } from './updates/update.ts';
export type { Branch } from './versions/branches.ts';
export type { TableVersion, VersionRange } from './versions/versions.ts';

export async function openEngine(settings: EngineSettings, native = loadNative()): Promise<Engine> {
  return new Engine(openParts(native, settings));
}

/**
 * Rows, versions and plans of tables on storage. Each call sees what earlier calls have acknowledged. Order among writes
 * and durability are up to the write pipeline, which calls this.
 */
export class Engine {
  readonly versions: VersionsEngine;
  readonly rows: RowsEngine;
  readonly lifecycle: LifecycleEngine;
  readonly indexes: IndexesEngine;
  readonly commits: CommitsEngine;
  readonly maintenance: MaintenanceEngine;
  readonly #parts: EngineParts;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.versions = createVersionsEngine(parts);
    this.rows = createRowsEngine(parts);
    this.lifecycle = createLifecycleEngine(parts);
    this.indexes = createIndexesEngine(parts);
    this.commits = createCommitsEngine(parts);
    this.maintenance = createMaintenanceEngine(parts);
  }

  /** The location is fresh; after a failure nothing is left there. */
  async createTable(
    location: TableLocation,
    stream: CheckedStream,
    storageOptions: Readonly<Record<string, string>>,
  ): Promise<WriteOutcome> {
    const source = { ...(await pullChunks(stream, 0)), limit: this.#parts.bulkLimit };
    return createTable(this.#parts.connections, { location, schema: stream.schema, source, storageOptions });
  }

  async describeTable(state: TableState): Promise<TableDescription> {
    return this.#parts.tables.describe(state);
  }

  async analyzeQuery(state: TableState, query: Query, timeout?: QueryTimeout): Promise<Analysis> {
    return analyzeQuery(this.#parts, state, query, timeout);
  }

  /** The latest state of a branch, for work that commits to it. */
  async useLatest<Value>(target: WriteTarget, work: (table: OpenTable) => Promise<Value>): Promise<Value> {
    return this.#parts.tables.use(target, work);
  }

  /** Refuses rows that do not fit the table as it is now. */
  async requireFit(target: WriteTarget, schema: Schema): Promise<void> {
    requireFit(schema, (await this.#parts.tables.describe(target)).schema);
  }

  /** `undefined` when there is no data. */
  async findLatestVersion(target: WriteTarget): Promise<number | undefined> {
    return this.#parts.tables.findLatestVersion(target);
  }

  /** Another writer committed first: nothing of ours was committed, and the same write may succeed on the newer version. */
  isConflict(error: unknown): boolean {
    return isRetryableConflict(error);
  }

  /** From now on readers of the latest get this version. */
  async holdReaders(target: WriteTarget, version: number): Promise<void> {
    await this.#parts.tables.hold(target, version);
  }

  releaseReaders(target: WriteTarget): void {
    this.#parts.tables.release(target);
  }

  /** Runs a write of much data; only a few run at once, because each takes much memory inside the engine. */
  async runBulk<Value>(work: () => Promise<Value>): Promise<Value> {
    return this.#parts.bulkLimit(work);
  }

  /** Commits the contents of an earlier version again, and returns the new version. */
  async restoreVersion(target: WriteTarget, version: number): Promise<number> {
    return this.#parts.tables.restoreVersion(target, version);
  }

  /** Missing data is no error. */
  async dropTable(location: TableLocation): Promise<void> {
    this.#parts.tables.evict(location);
    await this.#parts.connections.dropTable(location);
  }

  /** Known directories are left out, and not even opened. */
  async findTables(root: string, isKnown: (directory: string) => boolean): Promise<readonly FoundTable[]> {
    return findTables(this.#parts.connections, root, isKnown);
  }

  /** Current numbers; hits and misses since the start. */
  counts() {
    const { orphans, tables } = this.#parts;
    return { orphanedQueries: orphans.count, openTables: tables.counts() };
  }

  /** Resolves when the engine's threads respond; while they are stuck it does not. */
  async probe(): Promise<void> {
    // Any asynchronous call waits for a thread of the engine; this one needs nothing else.
    await engineCall(async () => this.#parts.native.RrfReranker.tryNew(Float32Array.of(1)));
  }

  async close(): Promise<void> {
    this.#parts.threads.close();
    await this.#parts.tables.close();
    await this.#parts.connections.close();
  }
}
