import { setTimeout as sleep } from 'node:timers/promises';
import type { TableLocation } from '../model/table.ts';
import { engineCall, isRefDeleted, isRetryableConflict, isStarved } from './native/engine-errors.ts';
import type { EngineRelease } from './native/engine-release.ts';
import type { NativeTable } from './native/native.ts';
import { optimizeTable } from './native/release-calls.ts';
import type { EngineParts } from './parts.ts';
import { readVersion } from './tables/table-handle.ts';
import { listTagTargets } from './versions/tags.ts';
import { readVersions } from './versions/version-list.ts';

/** Statistics that the engine has without reading rows. */
export interface Condition {
  readonly version: number;
  readonly rows: number;
  /** Of the latest version only. */
  readonly bytes: number;
  /** Fragments that a compaction would merge. */
  readonly smallFragments: number;
  readonly fragments: number;
  /** An estimate of deleted rows that still take space. */
  readonly deletedRows: number;
  readonly indexes: readonly { readonly name: string; readonly unindexedRows: number }[];
}

export interface VersionAge {
  readonly version: number;
  readonly committedAtMilliseconds: number;
}

export interface OptimizeRequest {
  /** Whether writers wait until the fragments are merged. Otherwise the engine gives up if a writer commits first. */
  readonly blocksWriters: boolean;
  /** Whether writers pause now and then while the merge is slow; for writers that only add rows. */
  readonly pausesWriters?: boolean;
  /** Versions committed before this time are removed; none if absent. */
  readonly cutoff: number | undefined;
}

export interface Optimization {
  readonly version: number;
  readonly fragmentsRemoved: number;
  readonly fragmentsAdded: number;
  readonly versionsRemoved: number;
  readonly bytesRemoved: number;
}

/** Maintenance of a table's main branch. */
export function createMaintenanceEngine(parts: EngineParts) {
  return {
    assess: async (location: TableLocation): Promise<Condition> =>
      parts.tables.usePrivate({ location }, async ({ native }) => assess(native)),
    readHistory: async (location: TableLocation) => readHistory(parts, location),
    startOptimize: async (location: TableLocation, request: OptimizeRequest) => startOptimize(parts, location, request),
    /** Removes unfinished files of writers that died, and returns how many. */
    sweep: async (location: TableLocation, olderThanMilliseconds: number) =>
      parts.storages.of(location.root).sweepUnfinishedFiles(location, olderThanMilliseconds),
  };
}

async function assess(native: NativeTable): Promise<Condition> {
  const { numRows, totalBytes, fragmentStats } = await engineCall(async () => native.stats());
  const { numFragments, numSmallFragments, lengths } = fragmentStats;
  const indexes = await engineCall(async () => native.listIndices());
  return {
    version: await readVersion(native),
    rows: numRows,
    bytes: totalBytes,
    fragments: numFragments,
    smallFragments: numSmallFragments,
    // Lengths include deleted rows, and their mean is rounded down.
    deletedRows: Math.max(0, lengths.mean * numFragments - numRows),
    indexes: indexes.map(({ name, numUnindexedRows }) => ({ name, unindexedRows: numUnindexedRows ?? 0 })),
  };
}

async function readHistory({ tables, readers, storages }: EngineParts, location: TableLocation) {
  const versions = await tables.usePrivate({ location }, async ({ native }) => readVersions(native));
  const tags = await listTagTargets(tables, location);
  const storage = storages.of(location.root);
  const pins = tags.filter(({ branch }) => branch === undefined).map(({ version }) => version);
  return {
    /** From oldest to latest. */
    versions: versions.map(({ version, timestamp }): VersionAge => {
      return { version, committedAtMilliseconds: Math.floor(timestamp / 1000) };
    }),
    /** No tag or reader needs a version before this one. */
    keptFromVersion: Math.min(...pins, readers.oldestVersion(location) ?? Infinity, Infinity),
    /** The size of all files of the table. */
    diskBytes: await storage.measureTable(location),
    /** No version that was the latest within this time may be removed. */
    retentionSecondsMin: storage.retentionSecondsMin,
  };
}

/**
 * Call it in the table's write queue; resolves when writers may continue. The engine compacts, removes old versions and
 * refreshes indexes, always in this order; each is a separate commit, made only if there is work.
 */
async function startOptimize(
  { tables, release }: EngineParts,
  location: TableLocation,
  { blocksWriters, cutoff }: OptimizeRequest,
) {
  const native = await tables.openPrivate({ location });
  const running = optimize(native, release, cutoff);
  // `finish` reports the failure; until then it must not count as unhandled.
  running.catch(() => {});
  if (cutoff !== undefined) tables.removals.add(location, cutoff, running);
  const merge = new MergeWatch(running);
  const waitForMerge = async (millisecondsMax: number): Promise<boolean> =>
    tables.usePrivate({ location }, async (watch) => merge.wait(watch.native, millisecondsMax));
  // If the watch fails, wait until everything has ended.
  if (blocksWriters) await waitForMerge(Infinity).catch(async () => running.catch(() => {}));
  return {
    /** Call it in the write queue. True if the merge is committed, or everything has ended. */
    waitForMerge,
    /** `undefined` if a writer committed first: nothing was changed. Call it once. */
    finish: async () => finishOptimize(native, running),
  };
}

/** The engine reads all tags and branches, and fails if one is deleted meanwhile. What it committed before is kept. */
async function optimize(native: NativeTable, release: EngineRelease, cutoff: number | undefined) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await engineCall(async () => optimizeTable(native, release, cutoff));
    } catch (error) {
      if (attempt >= ATTEMPTS_MAX || !isRefDeleted(error)) throw error;
      await engineCall(async () => native.checkoutLatest());
    }
  }
}

async function finishOptimize(
  native: NativeTable,
  running: ReturnType<NativeTable['optimize']>,
): Promise<Optimization | undefined> {
  try {
    const { compaction, prune } = await engineCall(async () => running);
    return {
      version: await readVersion(native),
      fragmentsRemoved: compaction.fragmentsRemoved,
      fragmentsAdded: compaction.fragmentsAdded,
      versionsRemoved: prune.oldVersionsRemoved,
      bytesRemoved: prune.bytesRemoved,
    };
  } catch (error) {
    if (isRetryableConflict(error) || isStarved(error)) return undefined;
    throw error;
  } finally {
    native.close();
  }
}

const ATTEMPTS_MAX = 20;
const POLL_MILLISECONDS = 20;

/**
 * Detects when the merge is committed: removing versions and refreshing indexes, which follow it, take longer and
 * disturb no writer. While the write queue is held, or writers only add rows, fewer fragments mean that the merge is
 * committed.
 */
class MergeWatch {
  readonly #running: Promise<unknown>;
  #fragmentsMax = 0;

  constructor(running: Promise<unknown>) {
    this.#running = running;
  }

  async wait(watch: NativeTable, millisecondsMax: number): Promise<boolean> {
    let isOver = false;
    const over = this.#running.catch(() => {}).then(() => (isOver = true));
    const until = performance.now() + millisecondsMax;
    do {
      if (await this.#isMerged(watch)) return true;
      await Promise.race([over, sleep(POLL_MILLISECONDS)]);
      if (isOver) return true;
      await engineCall(async () => watch.checkoutLatest());
    } while (performance.now() < until);
    return this.#isMerged(watch);
  }

  async #isMerged(watch: NativeTable): Promise<boolean> {
    const { fragmentStats } = await engineCall(async () => watch.stats());
    this.#fragmentsMax = Math.max(this.#fragmentsMax, fragmentStats.numFragments);
    return fragmentStats.numFragments < this.#fragmentsMax;
  }
}
