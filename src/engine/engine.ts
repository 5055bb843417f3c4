import type { CheckedStream } from '../arrow/stream/checked-stream.ts';
import { pullChunks } from '../arrow/stream/chunk-source.ts';
import type { Analysis, Query } from '../model/query.ts';
import type { Schema } from '../model/schema.ts';
import type { TableLocation, TableState } from '../model/table.ts';
import { analyzeQuery } from './plans/analyze-query.ts';
import { createCommitsEngine } from './commits/commits.ts';
import type { CommitsEngine } from './commits/commits.ts';
import { findLatestVersion, restoreVersion, toWriteState } from './commits/commit-target.ts';
import type { WriteTarget } from './commits/commit-target.ts';
import { createTable } from './tables/write-table.ts';
import { engineCall, isRetryableConflict } from './native/engine-errors.ts';
import { findTables } from './tables/find-tables.ts';
import type { FoundTable } from './tables/find-tables.ts';
import { createLifecycleEngine } from './tables/lifecycle.ts';
import type { LifecycleEngine } from './tables/lifecycle.ts';
import { createIndexesEngine } from './indexes/indexes.ts';
import type { IndexesEngine } from './indexes/indexes.ts';
import { createMaintenanceEngine } from './maintenance.ts';
import type { MaintenanceEngine } from './maintenance.ts';
import { loadNative } from './native/native.ts';
import type { OpenTable, TableDescription } from './tables/table-handle.ts';
import { openParts } from './parts.ts';
import type { EngineParts, EngineSettings } from './parts.ts';
import { requireFit } from './commits/schema-fit.ts';
import { createRowsEngine } from './queries/rows.ts';
import type { QueryTimeout, RowsEngine } from './queries/rows.ts';
import { createVersionsEngine } from './versions/versions.ts';
import type { VersionsEngine } from './versions/versions.ts';
import type { WriteOutcome } from './tables/write-table.ts';

export type { AppendedRows } from './commits/append.ts';
export type { Assignment } from './updates/assignments.ts';
export type { ColumnAlteration, NewColumn } from './commits/columns.ts';
export type { CommitGroup, CommitPlan, Committed, MultiCommitPlan, PreparedCommit } from './commits/commit-plan.ts';
export type { CommitsEngine, DeletedRows } from './commits/commits.ts';
export type { WriteTarget } from './commits/commit-target.ts';
export type { FieldMetadataEntry, FieldMetadataOutcome } from './commits/metadata.ts';
export type { FoundTable } from './tables/find-tables.ts';
export type { IndexCommit } from './indexes/indexes.ts';
export type { LifecycleEngine } from './tables/lifecycle.ts';
export type { Condition, MaintenanceEngine, Optimization, OptimizeRequest, VersionAge } from './maintenance.ts';
export type { MergeCounts, MergeRequest } from './commits/merge.ts';
export type { OpenTable, TableDescription } from './tables/table-handle.ts';
export type { EngineSettings } from './parts.ts';
export type { RowsEngine } from './queries/rows.ts';
export type { SchemaMetadataOutcome } from './commits/metadata.ts';
export type { Branch } from './versions/branches.ts';
export type { Tag } from './versions/tags.ts';
export type { TableVersion, VersionRange } from './versions/versions.ts';
export type { UpdatedRows, UpdateRequest } from './updates/update.ts';
export type { WriteOutcome } from './tables/write-table.ts';

/** As of now, but for hits and misses: those are since the start. */
export interface EngineCounts {
  readonly abandoned: number;
  readonly openTables: { readonly open: number; readonly hits: number; readonly misses: number };
}

/**
 * Rows, versions and plans of tables on storage. Whatever one call has acknowledged, the next sees. It keeps no order among
 * writes, and makes nothing durable: that is for the write pipeline, which calls it.
 */
export interface Engine {
  readonly versions: VersionsEngine;
  readonly rows: RowsEngine;
  readonly lifecycle: LifecycleEngine;
  readonly indexes: IndexesEngine;
  readonly commits: CommitsEngine;
  readonly maintenance: MaintenanceEngine;
  /** The location is fresh; after a failure nothing is left there. */
  createTable(
    location: TableLocation,
    stream: CheckedStream,
    storageOptions: Readonly<Record<string, string>>,
  ): Promise<WriteOutcome>;
  describeTable(state: TableState): Promise<TableDescription>;
  analyzeQuery(state: TableState, query: Query, patience?: QueryTimeout): Promise<Analysis>;
  /** The latest state of a branch, for work that commits to it. */
  useLatest<Value>(target: WriteTarget, work: (table: OpenTable) => Promise<Value>): Promise<Value>;
  /** Refuses rows that do not fit the table as it is now. */
  requireFit(target: WriteTarget, schema: Schema): Promise<void>;
  /** `undefined` when there is no data. */
  findLatestVersion(target: WriteTarget): Promise<number | undefined>;
  /** Another writer was faster: nothing was committed, and the same write may succeed on the newer version. */
  isConflict(error: unknown): boolean;
  /** From now on readers of the latest get this version. */
  holdReaders(target: WriteTarget, version: number): Promise<void>;
  releaseReaders(target: WriteTarget): void;
  /** Runs a write of much data; only a few run at once, because each takes much memory inside the engine. */
  runBulk<Value>(work: () => Promise<Value>): Promise<Value>;
  /** Makes the contents of an earlier version the latest, and gives the new version. */
  restoreVersion(target: WriteTarget, version: number): Promise<number>;
  /** Data that is not there is fine. */
  dropTable(location: TableLocation): Promise<void>;
  /** Directories that are known are left out, and not even opened. */
  findTables(root: string, isKnown: (directory: string) => boolean): Promise<readonly FoundTable[]>;
  /** What the engine is busy with. */
  counts(): EngineCounts;
  /** Resolves when the engine's own threads answer; while they are stuck it does not. */
  probe(): Promise<void>;
  close(): Promise<void>;
}

export async function openEngine(settings: EngineSettings): Promise<Engine> {
  return new NativeBackedEngine(openParts(loadNative(), settings));
}

export class NativeBackedEngine implements Engine {
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

  async createTable(
    location: TableLocation,
    stream: CheckedStream,
    storageOptions: Readonly<Record<string, string>>,
  ): Promise<WriteOutcome> {
    const source = { ...(await pullChunks(stream, 0)), semaphore: this.#parts.bulk };
    return createTable(this.#parts.connections, { location, schema: stream.schema, source, storageOptions });
  }

  async describeTable(state: TableState): Promise<TableDescription> {
    return this.#parts.tables.describe(state);
  }

  async analyzeQuery(state: TableState, query: Query, patience?: QueryTimeout): Promise<Analysis> {
    return analyzeQuery(this.#parts, state, query, patience);
  }

  async useLatest<Value>(target: WriteTarget, work: (table: OpenTable) => Promise<Value>): Promise<Value> {
    return this.#parts.tables.use(toWriteState(target), work);
  }

  async requireFit(target: WriteTarget, schema: Schema): Promise<void> {
    requireFit(schema, (await this.#parts.tables.describe(toWriteState(target))).schema);
  }

  async findLatestVersion(target: WriteTarget): Promise<number | undefined> {
    return findLatestVersion(this.#parts.tables, target);
  }

  isConflict(error: unknown): boolean {
    return isRetryableConflict(error);
  }

  async holdReaders(target: WriteTarget, version: number): Promise<void> {
    await this.#parts.tables.hold(target, version);
  }

  releaseReaders(target: WriteTarget): void {
    this.#parts.tables.release(target);
  }

  async runBulk<Value>(work: () => Promise<Value>): Promise<Value> {
    return this.#parts.bulk.run(work);
  }

  async restoreVersion(target: WriteTarget, version: number): Promise<number> {
    return restoreVersion(this.#parts.tables, target, version);
  }

  async dropTable(location: TableLocation): Promise<void> {
    this.#parts.tables.evict(location);
    await this.#parts.connections.dropTable(location);
  }

  async findTables(root: string, isKnown: (directory: string) => boolean): Promise<readonly FoundTable[]> {
    return findTables(this.#parts.connections, root, isKnown);
  }

  counts(): EngineCounts {
    const { abandoned, tables } = this.#parts;
    return { abandoned: abandoned.count, openTables: tables.counts() };
  }

  async probe(): Promise<void> {
    // Any asynchronous call waits for a thread of the engine's; this one needs nothing else.
    await engineCall(async () => this.#parts.native.RrfReranker.tryNew(Float32Array.of(1)));
  }

  async close(): Promise<void> {
    this.#parts.threads.close();
    await this.#parts.tables.close();
    await this.#parts.connections.close();
  }
}
