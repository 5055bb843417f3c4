import type { CheckedStream } from '../arrow/checked-stream.ts';
import type { Analysis } from '../model/plan.ts';
import type { Query } from '../model/query.ts';
import type { Place, TableState } from '../model/table.ts';
import { analyzeQuery } from './analyze-query.ts';
import { createColumnsEngine } from './columns-engine.ts';
import type { ColumnsEngine } from './columns-engine.ts';
import { createTable } from './create-table.ts';
import { engineCall } from './engine-errors.ts';
import { updateFieldMetadata } from './field-metadata.ts';
import type { FieldMetadataEntry, FieldMetadataOutcome } from './field-metadata.ts';
import { findTables } from './find-tables.ts';
import type { FoundTable } from './find-tables.ts';
import { lookForLanded } from './landed-write.ts';
import type { UncertainWrite } from './landed-write.ts';
import { createLifecycleEngine } from './lifecycle-engine.ts';
import type { LifecycleEngine } from './lifecycle-engine.ts';
import { createIndexesEngine } from './indexes-engine.ts';
import type { IndexesEngine } from './indexes-engine.ts';
import { createMaintenanceEngine } from './maintenance-engine.ts';
import type { MaintenanceEngine } from './maintenance-engine.ts';
import { loadNative } from './native.ts';
import type { TableDescription } from './open-table.ts';
import { openParts } from './parts.ts';
import type { EngineParts, EngineSettings } from './parts.ts';
import { restoreVersion, runHeld } from './held-write.ts';
import type { VersionHold } from './held-write.ts';
import { overwriteTable } from './overwrite-table.ts';
import { Spool } from './spool.ts';
import { toWriteState } from './table-writes.ts';
import type { WriteTarget } from './table-writes.ts';
import { createRowsEngine } from './rows-engine.ts';
import type { Patience, RowsEngine } from './rows-engine.ts';
import { updateRows } from './update-rows.ts';
import type { UpdateOutcome, UpdateRequest } from './update-rows.ts';
import { createVersionsEngine } from './versions-engine.ts';
import type { VersionsEngine } from './versions-engine.ts';
import { giveBack, pullChunks } from './write-chunks.ts';
import type { WriteOutcome } from './write-stream.ts';
import { createWritesEngine } from './writes-engine.ts';
import type { WritesEngine } from './writes-engine.ts';

export type { Assignment } from './assignment-tree.ts';
export type { ColumnAlteration, NewColumn } from './column-changes.ts';
export type { FieldMetadataEntry, FieldMetadataOutcome } from './field-metadata.ts';
export type { FoundTable } from './find-tables.ts';
export type { LifecycleEngine } from './lifecycle-engine.ts';
export type { Condition, MaintenanceEngine, Optimization, VersionAge } from './maintenance-engine.ts';
export type { TableDescription } from './open-table.ts';
export type { EngineSettings } from './parts.ts';
export type { Branch } from './table-branches.ts';
export type { Tag } from './table-tags.ts';
export type { TableVersion, VersionRange } from './table-versions.ts';
export type { RowsEngine } from './rows-engine.ts';
export type { VersionHold } from './held-write.ts';
export type { MergeOutcome, MergeRequest } from './merge-rows.ts';
export type { InsertMode, UploadKey } from './uploads.ts';
export type { WriteTarget } from './table-writes.ts';
export type { UpdateOutcome, UpdateRequest } from './update-rows.ts';
export type { WriteOutcome } from './write-stream.ts';

export interface OverwriteOptions extends VersionHold {
  readonly storageOptions: Readonly<Record<string, string>>;
}

/** As of now, but for hits and misses: those are since the start. */
export interface EngineCounts {
  readonly lanesRunning: number;
  readonly lanesWaiting: number;
  readonly abandoned: number;
  readonly openTables: { readonly open: number; readonly hits: number; readonly misses: number };
}

/** Rows, versions and plans of tables on storage. Whatever one call has acknowledged, the next sees. */
export interface Engine {
  readonly versions: VersionsEngine;
  readonly rows: RowsEngine;
  readonly lifecycle: LifecycleEngine;
  readonly columns: ColumnsEngine;
  readonly indexes: IndexesEngine;
  readonly writes: WritesEngine;
  readonly maintenance: MaintenanceEngine;
  /** The place is fresh; after a failure nothing is left there. */
  createTable(
    place: Place,
    stream: CheckedStream,
    storageOptions: Readonly<Record<string, string>>,
  ): Promise<WriteOutcome>;
  /** A new version of the same table; after a failure the contents are as before. */
  overwriteTable(place: Place, stream: CheckedStream, options: OverwriteOptions): Promise<WriteOutcome>;
  describeTable(state: TableState): Promise<TableDescription>;
  updateRows(target: WriteTarget, request: UpdateRequest): Promise<UpdateOutcome>;
  updateFieldMetadata(target: WriteTarget, entries: readonly FieldMetadataEntry[]): Promise<FieldMetadataOutcome>;
  analyzeQuery(state: TableState, query: Query, patience?: Patience): Promise<Analysis>;
  /** Makes the contents of an earlier version the latest, and gives the new version's number. */
  restoreVersion(target: WriteTarget, version: number): Promise<number>;
  /** The version of a write of rows that a crash cut short; `undefined` when it was not committed. */
  findLanded(target: WriteTarget, write: UncertainWrite): Promise<number | undefined>;
  /** Puts on disk what a former process may have committed since then, and not synced. */
  syncSince(place: Place, sinceMilliseconds: number): Promise<void>;
  /** Waits for the writes before it, and for work beside them that cannot be stopped. Data that is not there is fine. */
  removeTable(place: Place): Promise<void>;
  /** Whether such work goes on: the build of an index, or upkeep. It may take long. */
  isBusy(place: Place): boolean;
  /** Directories that are known are left out, and not even opened. */
  findTables(root: string, isKnown: (directory: string) => boolean): Promise<readonly FoundTable[]>;
  /** What the engine is busy with. */
  counts(): EngineCounts;
  /** Resolves when the engine's own threads answer; while they, or a write that others wait for, are stuck it does not. */
  probe(): Promise<void>;
  close(): Promise<void>;
}

export async function openEngine(settings: EngineSettings): Promise<Engine> {
  const { spoolFolder, limits } = settings;
  const spool = await Spool.open({ folder: spoolFolder, bytesMax: limits.spoolBytesMax });
  return new NativeBackedEngine(openParts(loadNative(), settings), spool);
}

class NativeBackedEngine implements Engine {
  readonly versions: VersionsEngine;
  readonly rows: RowsEngine;
  readonly lifecycle: LifecycleEngine;
  readonly columns: ColumnsEngine;
  readonly indexes: IndexesEngine;
  readonly writes: WritesEngine;
  readonly maintenance: MaintenanceEngine;
  readonly #parts: EngineParts;

  constructor(parts: EngineParts, spool: Spool) {
    this.#parts = parts;
    this.versions = createVersionsEngine(parts);
    this.rows = createRowsEngine(parts);
    this.lifecycle = createLifecycleEngine(parts);
    this.columns = createColumnsEngine(parts);
    this.indexes = createIndexesEngine(parts);
    this.writes = createWritesEngine(parts, spool);
    this.maintenance = createMaintenanceEngine(parts);
  }

  async createTable(
    place: Place,
    stream: CheckedStream,
    storageOptions: Readonly<Record<string, string>>,
  ): Promise<WriteOutcome> {
    const source = { ...(await pullChunks(stream, 0)), turns: this.#parts.bulk };
    const data = { place, schema: stream.schema, source, storageOptions };
    return this.#parts.lanes.run(place, async () => createTable(this.#parts.connections, data));
  }

  async overwriteTable(place: Place, stream: CheckedStream, options: OverwriteOptions): Promise<WriteOutcome> {
    // Pulled before the lane is taken, so that the sender of a small stream keeps no other writer waiting.
    const source = { ...(await pullChunks(stream, 2)), turns: this.#parts.bulk };
    const data = { place, schema: stream.schema, source, storageOptions: options.storageOptions };
    const context = {
      connections: this.#parts.connections,
      tables: this.#parts.tables,
      writeAttemptsMax: this.#parts.limits.writeAttemptsMax,
    };
    try {
      return await runHeld(this.#parts.lanes, place, async (onFailed) =>
        overwriteTable(context, data, { ...options, onFailed }),
      );
    } finally {
      giveBack(source);
    }
  }

  async describeTable(state: TableState): Promise<TableDescription> {
    return this.#parts.tables.describe(state);
  }

  async updateRows(target: WriteTarget, request: UpdateRequest): Promise<UpdateOutcome> {
    return updateRows(this.#parts, target, request);
  }

  async updateFieldMetadata(
    target: WriteTarget,
    entries: readonly FieldMetadataEntry[],
  ): Promise<FieldMetadataOutcome> {
    return updateFieldMetadata(this.#parts, target, entries);
  }

  async analyzeQuery(state: TableState, query: Query, patience?: Patience): Promise<Analysis> {
    return analyzeQuery(this.#parts, state, query, patience);
  }

  async restoreVersion(target: WriteTarget, version: number): Promise<number> {
    return this.#parts.lanes.run(target.place, async () => restoreVersion(this.#parts.tables, target, version));
  }

  async findLanded(target: WriteTarget, write: UncertainWrite): Promise<number | undefined> {
    return lookForLanded(this.#parts.tables, toWriteState(target), write);
  }

  async syncSince(place: Place, sinceMilliseconds: number): Promise<void> {
    await this.#parts.storages.of(place.root).syncSince(place, sinceMilliseconds);
  }

  async removeTable(place: Place): Promise<void> {
    const { lanes, tables, connections, builds, storages } = this.#parts;
    // A build cannot be stopped, and would bring the folder back.
    await builds.whenOver(place);
    await lanes.runUnsynced(place, async () => {
      tables.evict(place);
      await connections.dropTable(place);
      storages.of(place.root).forget(place);
    });
  }

  isBusy(place: Place): boolean {
    return this.#parts.builds.whenOver(place) !== undefined;
  }

  async findTables(root: string, isKnown: (directory: string) => boolean): Promise<readonly FoundTable[]> {
    return findTables(this.#parts.connections, root, isKnown);
  }

  counts(): EngineCounts {
    const { lanes, abandoned, tables } = this.#parts;
    return {
      lanesRunning: lanes.running,
      lanesWaiting: lanes.waiting,
      abandoned: abandoned.count,
      openTables: tables.counts(),
    };
  }

  async probe(): Promise<void> {
    this.#parts.lanes.requireMoving();
    // Any asynchronous call waits for a thread of the engine's; this one needs nothing else.
    await engineCall(async () => this.#parts.native.RrfReranker.tryNew(Float32Array.of(1)));
  }

  async close(): Promise<void> {
    await this.writes.close();
    this.#parts.threads.close();
    await this.#parts.tables.close();
    await this.#parts.connections.close();
  }
}
