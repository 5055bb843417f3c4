import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Catalog, VersionRemoval } from '../catalog/catalog.ts';
import type { Engine, IndexCommit, Optimization, OptimizeRequest, WriteTarget } from '../engine/engine.ts';
import type { IndexRequest } from '../model/index-spec.ts';
import type { EngineLimits } from '../model/limits.ts';
import { isMaintenance, locationKey } from '../model/table.ts';
import type { Commit, TableLocation, TableRecord } from '../model/table.ts';
import type { SyncScope } from '../storage/storage.ts';
import type { Storages } from '../storage/storages.ts';
import { cannotTakeBack, indexUndone, notKept } from './refusals.ts';
import type { WriteQueues } from './queue/write-queues.ts';
import type { TableAccess } from './recovery/verify.ts';

export interface BackgroundParts extends TableAccess {
  readonly queues: WriteQueues;
  readonly limits: Pick<EngineLimits, 'writeAttemptsMax'>;
}

/** What keeps a commit from being undone after it was reported. */
interface BuildGuard {
  /** Refuses while a failed write of several commits has yet to be undone: the index would go with it. */
  readonly requireUndone: () => void;
  /** Resolves when nothing that another node has begun can undo what is committed by now. */
  readonly outlastOthers: () => Promise<void>;
}

const ALONE: BuildGuard = { requireUndone: () => {}, outlastOthers: async () => {} };

/** Called before each phase of work; may throw to stop there. */
type EnterPhase = (phase: string) => Promise<void> | void;

export interface TimedOptimization extends Optimization {
  /** How long writers of the table were kept waiting. */
  readonly laneMilliseconds: number;
}

/**
 * Index builds and compaction commit beside the queue: they change no rows, the engine commits them over whatever was
 * committed since they began, and the queue would be kept for minutes. So they have no journal entry; they open the table
 * in the queue, and their commits are synced before they are reported. They cannot be stopped.
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
          // An overwrite makes the index worthless: it is built again.
          if (attempt >= limits.writeAttemptsMax || !engine.isConflict(error)) throw error;
        } finally {
          opened.close();
        }
      }
    });
  }

  /** A write of several commits that fails takes back what was committed between them: that is known when it has ended. */
  async #isUndone(
    { location, branch }: WriteTarget,
    { version }: IndexCommit,
    { requireUndone, outlastOthers }: BuildGuard,
  ): Promise<boolean> {
    await outlastOthers();
    const { queues, storages } = this.#parts;
    const storage = storages.of(location.root);
    const takesBack = ({ kind, restoredVersion = version }: Commit): boolean =>
      kind === 'restore' && restoredVersion < version;
    const look = async (): Promise<boolean> => {
      requireUndone();
      for (let after = version; ;) {
        const commits = (await storage.readCommits(location, branch, after)) ?? [];
        if (commits.some(takesBack)) return true;
        const last = commits.at(-1);
        if (last === undefined) return false;
        after = last.version;
      }
    };
    return queues.run(location, look, { isNext: true });
  }

  /** `undefined` when a writer was faster: then nothing was changed. `requireUndone` as in `BuildGuard`. */
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
      const pauses = request.pausesWriters === true ? await this.#makeWay(location, optimization, finishing) : 0;
      const done = await finishing;
      return done === undefined ? undefined : { ...done, laneMilliseconds: laneMilliseconds + pauses };
    });
  }

  /**
   * Appends do not conflict with a compaction, but one writer can be fast enough for it to lose every race for the next
   * version. So while it takes long, writers pause now and then. Returns how long.
   */
  async #makeWay(
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
      // Where it cannot be known whether it is merged, writers wait no longer.
      if (await this.#parts.queues.run(location, hold, { isNext: true }).catch(() => true)) break;
    }
    return milliseconds;
  }

  /** Settles when all work that runs now has ended; `undefined` when none runs. The removal of a table waits for it. */
  whenOver(location: TableLocation): Promise<unknown> | undefined {
    const key = locationKey(location);
    const running = [...this.#running].filter((each) => each.key === key);
    return running.length === 0 ? undefined : Promise.allSettled(running.map(({ done }) => done));
  }

  async #run<Value>(target: WriteTarget, work: () => Promise<Value>): Promise<Value> {
    const { location } = target;
    const done = runSynced(this.#parts.storages, location, async (scope) => {
      const base = (await this.#parts.engine.findLatestVersion(target)) ?? 0;
      // A failure may follow a commit: a compaction that is in, and a refresh of an index that failed.
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

  /** Takes back a commit whose files were cut short, ahead of the next write: it would make the table unreadable. */
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
      // A restore would lose the writes that have followed it; they do not depend on the index.
      else if (torn.indexNames.length > 0) await this.#dropIndexes(target, torn.indexNames);
      else throw cannotTakeBack(torn.version);
      await scope.sync();
    };
    await queues.run(location, takeBack, { isNext: true });
    throw notKept();
  }

  /** The first torn commit of maintenance after a version. Writes check their own commits. */
  async #findTorn(target: WriteTarget, base: number) {
    const { engine, storages } = this.#parts;
    const { location, branch } = target;
    const latest = (await engine.findLatestVersion(target)) ?? 0;
    for (let version = base + 1; version <= latest; version += 1) {
      const inspected = await storages.of(location.root).inspectCommit(location, branch, version);
      if (inspected?.isIntact === false && isMaintenance(inspected.kind)) return { ...inspected, version };
      // Others may have committed thousands of versions meanwhile.
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
/** Each pause may be twice as long as the one before: the more versions there are to catch up with, the longer it takes. */
const FIRST_PAUSE_MILLISECONDS = 250;
const PAUSES_MAX = 5;

/** Whether a later commit no longer refers to the files of a version. */
function replaces({ kind, restoredVersion = Infinity }: Commit, version: number): boolean {
  return kind === 'overwrite' || (kind === 'restore' && restoredVersion < version);
}

/** Runs work on a table, and resolves when all that it committed is durable. */
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
 * Removes the manifests of versions whose deletion is committed. To be called in the queue of their table, by its owner.
 * What fails stays listed in the catalog, and is repeated.
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
