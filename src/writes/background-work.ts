import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Catalog, VersionRemoval } from '../catalog/catalog.ts';
import type { Engine, IndexCommit, Optimization, OptimizeRequest, WriteTarget } from '../engine/engine.ts';
import type { IndexRequest } from '../model/index-spec.ts';
import type { EngineLimits } from '../model/limits.ts';
import { isMaintenance, locationKey } from '../model/table.ts';
import type { Commit, TableLocation, TableRecord } from '../model/table.ts';
import type { SyncScope } from '../storage/storage.ts';
import type { Storages } from '../storage/storages.ts';
import { cannotRevert, indexUndone, dataNotStored } from './refusals.ts';
import type { WriteQueues } from './queue/write-queues.ts';
import type { TableAccess } from './recovery/verify.ts';

export interface BackgroundParts extends TableAccess {
  readonly queues: WriteQueues;
  readonly limits: Pick<EngineLimits, 'writeAttemptsMax'>;
}

/** Keeps a reported commit from being undone. */
interface BuildGuard {
  /** Refuses while a failed write of several commits is still to be undone: its undo would drop the index too. */
  readonly requireUndone: () => void;
  /** Resolves when no write that another node has begun can undo the commits made so far. */
  readonly outlastOthers: () => Promise<void>;
}

const ALONE: BuildGuard = { requireUndone: () => {}, outlastOthers: async () => {} };

/** Called before each phase of work; throws to stop before it. */
type EnterPhase = (phase: string) => Promise<void> | void;

export interface TimedOptimization extends Optimization {
  /** How long writers of the table were kept waiting. */
  readonly laneMilliseconds: number;
}

/**
 * Index builds and compaction commit outside the queue, which they would block for minutes: they change no rows, and
 * the engine rebases them onto later commits. They have no journal entry. They open the table in the queue, sync their
 * commits before they report them, and cannot be cancelled.
 */
export class BackgroundWork {
  readonly #parts: BackgroundParts;
  readonly #running = new Set<{ readonly key: string; readonly done: Promise<unknown> }>();

  constructor(parts: BackgroundParts) {
    this.#parts = parts;
  }

  async buildIndex(target: WriteTarget, request: IndexRequest, enter: EnterPhase, guard = ALONE): Promise<IndexCommit> {
    const { engine, queues, limits } = this.#parts;
    const open = async () => {
      guard.requireUndone();
      return engine.indexes.openBuild(target);
    };
    return this.#run(target, async () => {
      for (let attempt = 1; ; attempt += 1) {
        await enter('opening');
        const opened = await queues.run(target.location, open);
        try {
          await enter('building');
          const commit = await opened.build(request);
          if (!(await this.#isUndone(target, commit, guard))) return commit;
          if (attempt >= limits.writeAttemptsMax) throw indexUndone();
        } catch (error) {
          // An overwrite makes the index useless: build it again.
          if (attempt >= limits.writeAttemptsMax || !engine.isConflict(error)) throw error;
        } finally {
          opened.close();
        }
      }
    });
  }

  /**
   * Whether the undo of a failed write of several commits has reverted this commit. Known once no such write is
   * pending.
   */
  async #isUndone(
    { location, branch }: WriteTarget,
    { version }: IndexCommit,
    { requireUndone, outlastOthers }: BuildGuard,
  ): Promise<boolean> {
    await outlastOthers();
    const { queues, storages } = this.#parts;
    const storage = storages.of(location.root);
    const hasReverted = ({ kind, restoredVersion = version }: Commit): boolean =>
      kind === 'restore' && restoredVersion < version;
    const look = async (): Promise<boolean> => {
      requireUndone();
      for (let after = version; ;) {
        const commits = (await storage.readCommits(location, branch, after)) ?? [];
        if (commits.some(hasReverted)) return true;
        const last = commits.at(-1);
        if (last === undefined) return false;
        after = last.version;
      }
    };
    return queues.run(location, look, { isNext: true });
  }

  /** `undefined` if a writer won the race: nothing was changed. `requireUndone` as in `BuildGuard`. */
  async optimize(
    location: TableLocation,
    request: OptimizeRequest,
    requireUndone = async (): Promise<void> => {},
  ): Promise<TimedOptimization | undefined> {
    const { engine, queues } = this.#parts;
    return this.#run({ location, branch: undefined }, async () => {
      const { optimization, laneMilliseconds } = await queues.run(location, async () => {
        const enteredAt = performance.now();
        await requireUndone();
        const started = await engine.maintenance.startOptimize(location, request);
        return { optimization: started, laneMilliseconds: performance.now() - enteredAt };
      });
      const finishing = optimization.finish();
      const pauses = request.pausesWriters === true ? await this.#pauseWriters(location, optimization, finishing) : 0;
      const done = await finishing;
      return done === undefined ? undefined : { ...done, laneMilliseconds: laneMilliseconds + pauses };
    });
  }

  /**
   * Appends do not conflict with a compaction, but a fast writer can make it lose every race for the next version.
   * Pauses writers now and then while a compaction is slow, and returns for how long.
   */
  async #pauseWriters(
    location: TableLocation,
    { waitForMerge }: { readonly waitForMerge: (millisecondsMax: number) => Promise<boolean> },
    finishing: Promise<unknown>,
  ): Promise<number> {
    let [isOver, milliseconds] = [false, 0];
    const over = finishing.catch(() => {}).then(() => (isOver = true));
    for (let pause = 0; pause < PAUSES_MAX; pause += 1) {
      const timer = new AbortController();
      await Promise.race([over, sleep(PAUSE_EVERY_MILLISECONDS, undefined, { signal: timer.signal }).catch(() => {})]);
      timer.abort();
      if (isOver) break;
      const hold = async (): Promise<boolean> => {
        const startedAt = performance.now();
        const isMerged = await waitForMerge(FIRST_PAUSE_MILLISECONDS * 2 ** pause);
        milliseconds += performance.now() - startedAt;
        return isMerged;
      };
      // If it is unknown whether the compaction was merged, stop pausing writers.
      if (await this.#parts.queues.run(location, hold, { isNext: true }).catch(() => true)) break;
    }
    return milliseconds;
  }

  /** Settles when the work that is running now has ended; `undefined` if none is running. */
  whenIdle(location: TableLocation): Promise<unknown> | undefined {
    const key = locationKey(location);
    const running = [...this.#running].filter((each) => each.key === key);
    return running.length === 0 ? undefined : Promise.allSettled(running.map(({ done }) => done));
  }

  async #run<Value>(target: WriteTarget, work: () => Promise<Value>): Promise<Value> {
    const { location } = target;
    const done = runSynced(this.#parts.storages, location, async (scope) => {
      const base = (await this.#parts.engine.findLatestVersion(target)) ?? 0;
      // Work can fail after a commit: the compaction was committed, then refreshing an index failed.
      const [outcome] = await Promise.allSettled([work()]);
      await this.#requireIntact(target, base, scope);
      if (outcome.status === 'rejected') throw outcome.reason;
      return outcome.value;
    });
    const running = { key: locationKey(location), done };
    this.#running.add(running);
    try {
      return await done;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Reverts a commit with truncated files before the next write: it would make the table unreadable. */
  async #requireIntact(target: WriteTarget, base: number, scope: SyncScope): Promise<void> {
    const torn = await this.#findTorn(target, base);
    if (torn === undefined) return;
    const { engine, storages, queues } = this.#parts;
    const { location, branch } = target;
    const takeBack = async (): Promise<void> => {
      const later = (await storages.of(location.root).readCommits(location, branch, torn.version)) ?? [];
      if (later.some((commit) => replaces(commit, torn.version))) return;
      const latest = Math.max(torn.version, ...later.map(({ version }) => version));
      if (later.every(({ kind }) => isMaintenance(kind))) await engine.restoreVersion(target, torn.version - 1, latest);
      // A restore would lose the writes after it; they do not depend on the index.
      else if (torn.indexNames.length > 0) await this.#dropIndexes(target, torn.indexNames);
      else throw cannotRevert(torn.version);
      await scope.sync();
    };
    await queues.run(location, takeBack, { isNext: true });
    throw dataNotStored();
  }

  /** The first torn maintenance commit after a version. Writes check their own commits. */
  async #findTorn(target: WriteTarget, base: number) {
    const { engine, storages } = this.#parts;
    const { location, branch } = target;
    const latest = (await engine.findLatestVersion(target)) ?? 0;
    for (let version = base + 1; version <= latest; version += 1) {
      const inspected = await storages.of(location.root).inspectCommit(location, branch, version);
      if (inspected?.isIntact === false && isMaintenance(inspected.kind)) return { ...inspected, version };
      // Thousands of versions may have been committed meanwhile.
      if (version % INSPECTED_AT_ONCE === 0) await nextTurn();
    }
    return undefined;
  }

  async #dropIndexes(target: WriteTarget, names: readonly string[]): Promise<void> {
    const { engine } = this.#parts;
    for (const name of names) {
      await engine.useLatest(target, async (table) => {
        const prepared = await engine.commits.dropIndex(name).prepare(table);
        await prepared.commit();
      });
    }
  }
}

const INSPECTED_AT_ONCE = 50;

const PAUSE_EVERY_MILLISECONDS = 1000;
/** Each pause may be twice as long as the last: the compaction has more versions to catch up with. */
const FIRST_PAUSE_MILLISECONDS = 250;
const PAUSES_MAX = 5;

/** Whether a later commit no longer refers to the files of a version. */
function replaces({ kind, restoredVersion = Infinity }: Commit, version: number): boolean {
  return kind === 'overwrite' || (kind === 'restore' && restoredVersion < version);
}

/** Runs work on a table and resolves when all its commits are durable. */
export async function runSynced<Value>(
  storages: Storages,
  location: TableLocation,
  work: (scope: SyncScope) => Promise<Value>,
): Promise<Value> {
  const storage = storages.of(location.root);
  await storage.requireRoot();
  const scope = await storage.beginSync(location);
  try {
    const value = await work(scope);
    await scope.sync();
    return value;
  } finally {
    scope.end();
  }
}

interface RemovalParts {
  readonly engine: Engine;
  readonly storages: Storages;
  readonly batches: Catalog['batches'];
}

/**
 * Removes the manifests of versions whose deletion is committed. Call it in the table's queue, as the owner. Failed
 * removals stay listed in the catalog and are retried.
 */
export async function removeVersions(
  { engine, storages, batches }: RemovalParts,
  { location }: TableRecord,
  removals: readonly VersionRemoval[],
): Promise<void> {
  for (const { id, branch, versions } of removals) {
    await runSynced(storages, location, async () => engine.versions.removeListed({ location, branch }, versions));
    await batches.finishRemoval(id);
  }
}
