import type { TableLocation, TableState } from '../model/table.ts';
import { engineCall, isRetryableConflict } from './native/engine-errors.ts';
import type { NativeTable } from './native/native.ts';
import type { EngineParts } from './parts.ts';
import { listTagTargets } from './versions/tags.ts';

/** What the engine knows of a table without reading its rows. */
export interface Condition {
  readonly version: number;
  readonly rows: number;
  /** Of the latest version alone. */
  readonly bytes: number;
  /** Those that a merge would make fewer. */
  readonly smallFragments: number;
  readonly fragments: number;
  /** About: deleted rows whose space has not been given back. */
  readonly deletedRows: number;
  readonly indexes: readonly { readonly name: string; readonly unindexedRows: number }[];
}

export interface VersionAge {
  readonly version: number;
  readonly committedAtMilliseconds: number;
}

export interface History {
  /** From the oldest to the latest. */
  readonly versions: readonly VersionAge[];
  /** Versions before this one are needed by nobody: neither a tag nor a reader. */
  readonly keptFromVersion: number;
  /** All files of the table; unknown on an object store. */
  readonly diskBytes: number | undefined;
}

export interface OptimizeRequest {
  /** Whether writers wait until the fragments are merged. Otherwise the engine gives up when a writer was faster. */
  readonly blocksWriters: boolean;
  /** Versions that were committed longer ago are removed; none when absent. */
  readonly olderThanMilliseconds: number | undefined;
}

export interface Optimization {
  readonly version: number;
  readonly fragmentsRemoved: number;
  readonly fragmentsAdded: number;
  readonly versionsRemoved: number;
  readonly bytesRemoved: number;
}

export interface StartedOptimization {
  /** `undefined` when a writer was faster: nothing was changed then. To be called once. */
  finish(): Promise<Optimization | undefined>;
}

/** The upkeep of the main branch of a table. */
export interface MaintenanceEngine {
  assess(location: TableLocation): Promise<Condition>;
  readHistory(location: TableLocation): Promise<History>;
  /** To be called in the table's queue. Resolves when writers may go on. */
  startOptimize(location: TableLocation, request: OptimizeRequest): Promise<StartedOptimization>;
  /** Removes what writers that died left half written, and gives how many files. */
  sweep(location: TableLocation, olderThanMilliseconds: number): Promise<number>;
}

export function createMaintenanceEngine(parts: EngineParts): MaintenanceEngine {
  return {
    assess: async (location) => parts.tables.usePrivate(latestOf(location), async ({ native }) => assess(native)),
    readHistory: async (location) => readHistory(parts, location),
    startOptimize: async (location, request) => startOptimize(parts, location, request),
    sweep: async (location, olderThanMilliseconds) =>
      parts.storages.of(location.root).sweepUnfinishedFiles(location, olderThanMilliseconds),
  };
}

async function assess(native: NativeTable): Promise<Condition> {
  const { numRows, totalBytes, fragmentStats } = await engineCall(async () => native.stats());
  const { numFragments, numSmallFragments, lengths } = fragmentStats;
  const indexes = await engineCall(async () => native.listIndices());
  return {
    version: await engineCall(async () => native.version()),
    rows: numRows,
    bytes: totalBytes,
    fragments: numFragments,
    smallFragments: numSmallFragments,
    // Lengths count deleted rows too, and their mean is rounded down.
    deletedRows: Math.max(0, lengths.mean * numFragments - numRows),
    indexes: indexes.map(({ name, numUnindexedRows }) => ({ name, unindexedRows: numUnindexedRows ?? 0 })),
  };
}

async function readHistory({ tables, readers, storages }: EngineParts, location: TableLocation): Promise<History> {
  const versions = await tables.usePrivate(latestOf(location), async ({ native }) =>
    engineCall(async () => native.listVersions()),
  );
  const tags = await listTagTargets(tables, location);
  const pins = tags.filter(({ branch }) => branch === undefined).map(({ version }) => version);
  return {
    versions: versions.map(({ version, timestamp }) => ({
      version,
      committedAtMilliseconds: Math.floor(timestamp / 1000),
    })),
    keptFromVersion: Math.min(...pins, readers.oldestVersion(location) ?? Infinity, Infinity),
    diskBytes: await storages.of(location.root).measureTable(location),
  };
}

/** So long that no version is older. */
const NEVER_MILLISECONDS = 100 * 365 * 86_400_000;

async function startOptimize(
  parts: EngineParts,
  location: TableLocation,
  request: OptimizeRequest,
): Promise<StartedOptimization> {
  const begun = await beginOptimize(parts, location, request);
  return { finish: async () => finishOptimize(begun) };
}

async function finishOptimize({ native, running }: Begun): Promise<Optimization | undefined> {
  try {
    const { compaction, prune } = await engineCall(async () => running);
    return {
      version: await engineCall(async () => native.version()),
      fragmentsRemoved: compaction.fragmentsRemoved,
      fragmentsAdded: compaction.fragmentsAdded,
      versionsRemoved: prune.oldVersionsRemoved,
      bytesRemoved: prune.bytesRemoved,
    };
  } catch (error) {
    if (isRetryableConflict(error)) return undefined;
    throw error;
  } finally {
    native.close();
  }
}

interface Begun {
  readonly native: NativeTable;
  readonly running: ReturnType<NativeTable['optimize']>;
}

async function beginOptimize(
  { tables }: EngineParts,
  location: TableLocation,
  { blocksWriters, olderThanMilliseconds = NEVER_MILLISECONDS }: OptimizeRequest,
): Promise<Begun> {
  const native = await tables.openPrivate(latestOf(location));
  // Files that no version names are left alone for a week by the engine: another process may be writing them.
  const running = native.optimize(Math.ceil(olderThanMilliseconds), false);
  // Whoever awaits it later learns of its failure; until then it is nobody's.
  running.catch(() => {});
  if (blocksWriters) {
    const merged = tables.usePrivate(latestOf(location), async (watch) => whenMerged(watch.native, running));
    // Who cannot look waits for all of it.
    await merged.catch(async () => running).catch(() => {});
  }
  return { native, running };
}

const LOOK_MILLISECONDS = 20;

/**
 * The engine merges first, and then removes versions and refreshes indexes, which takes longer and disturbs no writer.
 * Nobody else writes while the lane is taken, so that fewer fragments mean that the merge is in.
 */
async function whenMerged(watch: NativeTable, running: Promise<unknown>): Promise<void> {
  const state = { isOver: false };
  const over = running.then(
    () => (state.isOver = true),
    () => (state.isOver = true),
  );
  const before = await countFragments(watch);
  while (!state.isOver) {
    await Promise.race([over, pause(LOOK_MILLISECONDS)]);
    if (state.isOver) return;
    await engineCall(async () => watch.checkoutLatest());
    if ((await countFragments(watch)) < before) return;
  }
}

async function countFragments(native: NativeTable): Promise<number> {
  const { fragmentStats } = await engineCall(async () => native.stats());
  return fragmentStats.numFragments;
}

async function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}

function latestOf(location: TableLocation): TableState {
  return { location, branch: undefined, version: undefined };
}
