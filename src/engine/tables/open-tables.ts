import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../errors/service-error.ts';
import { branchNotFound } from '../../model/refusals.ts';
import { MAIN_BRANCH, branchKey, locationKey } from '../../model/table.ts';
import type { ContentIdentity, TableLocation } from '../../model/table.ts';
import type { VersionWatch } from '../../storage/storage.ts';
import type { Storages } from '../../storage/storages.ts';
import type { Connections, TableUse } from '../native/connections.ts';
import { engineCall, isDataMissing, retryListing } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';
import { PinnedTables } from './pinned-tables.ts';
import type { PinnedTable } from './pinned-tables.ts';
import { RecordedTables } from './recorded-tables.ts';
import type { RecordedSettings } from './recorded-tables.ts';
import { SharedTable, readSchema, readVersion, retireSoon, toOpenTable } from './table-handle.ts';
import type { OpenTable, TableRef, WriteTarget } from './table-handle.ts';
import { RunningRemovals } from './running-removals.ts';

/** A failing handle may belong to a table that was dropped meanwhile; a new one shows the real cause. */
const REFRESH_FAILURES_MAX = 3;
/** A handle may be closed, or outdated by a re-created table, before it can be used. */
const HANDLES_TRIED_MAX = 20;
/** The longest folder name; the storage fails for a longer one. */
export const BRANCH_LENGTH_MAX = 255;

const MISSING: ReadonlySet<string> = new Set(['TableNotFound', 'TableBranchNotFound']);

type Work<Value> = (table: OpenTable) => Promise<Value>;

/**
 * Keeps the latest state of the most recently used tables open. A version or branch is opened for a single piece of
 * work (invariant 3): the engine's handles are mutable, and a reader of the latest version must never get one that was
 * moved elsewhere. While a table is being written, readers share a handle at the version that was the latest when they
 * began.
 */
export class OpenTables {
  readonly removals = new RunningRemovals();
  readonly #connections: Connections;
  readonly #shared: LRUCache<string, Promise<SharedTable>>;
  readonly #recorded: RecordedTables;
  readonly #pinned: PinnedTables;
  readonly #watches: LRUCache<string, VersionWatch>;
  /** The versions at which readers of the latest are held, while a write takes several commits. */
  readonly #held = new Map<string, number>();
  #hits = 0;
  #misses = 0;

  constructor(connections: Connections, settings: RecordedSettings) {
    this.#connections = connections;
    this.#shared = new LRUCache({ max: settings.openTablesMax, dispose: (opening) => retireSoon(opening) });
    this.#watches = new LRUCache({ max: settings.openTablesMax });
    this.#recorded = new RecordedTables(connections, settings);
    this.#pinned = new PinnedTables(settings.openTablesMax);
  }

  get storages(): Storages {
    return this.#connections.storages;
  }

  counts(): { readonly open: number; readonly hits: number; readonly misses: number } {
    return { open: this.#shared.size, hits: this.#hits, misses: this.#misses };
  }

  /** The work sees every commit that any process acknowledged before this call. */
  async use<Value>(ref: TableRef, work: Work<Value>): Promise<Value> {
    const version = this.#versionFor(ref);
    if (findBranch(ref) !== undefined || version !== undefined) return this.usePrivate({ ...ref, version }, work);
    const shared =
      ref.recorded === undefined
        ? await this.#acquireLatest(ref)
        : await this.#recorded.acquire(ref.location, ref.recorded);
    if (shared === undefined) return this.use({ ...ref, recorded: undefined }, work);
    try {
      return await work(shared);
    } finally {
      shared.release();
    }
  }

  /** Also returns the version that the work saw. The work may run twice. */
  async useAtVersion<Value>(ref: TableRef, work: Work<Value>): Promise<{ value: Value; version: number }> {
    const isLatest = findBranch(ref) === undefined && this.#versionFor(ref) === undefined;
    if (!isLatest || !this.#pinned.isBusy(ref.location)) {
      const found = await this.use(ref, async (table) => {
        const version = await versionNow(table);
        const value = await work(table);
        // A handle only moves forward: if it is at the same version, it has not moved.
        return version === (await versionNow(table)) ? { value, version } : undefined;
      });
      if (found !== undefined) return found;
      // While writers move the shared handle, it is unknown which version the work saw.
      if (isLatest && this.#stampOf(ref) !== undefined) this.#pinned.setBusy(ref.location);
    }
    const pinned = isLatest ? await this.#pin(ref) : undefined;
    if (pinned === undefined) {
      const version = this.#versionFor(ref) ?? ref.recorded?.version;
      return this.usePrivate({ ...ref, version }, async (table) => ({
        version: await versionNow(table),
        value: await work(table),
      }));
    }
    try {
      return { value: await work(pinned), version: pinned.knownVersion() };
    } finally {
      pinned.release();
    }
  }

  /**
   * Identifies what a read would see now. `undefined` if only the engine knows, and briefly after a commit: until the
   * stamp has settled, the next commit may have the same one.
   */
  identify(ref: TableRef): ContentIdentity | undefined | Promise<ContentIdentity | undefined> {
    const watch = this.#watches.get(branchKey(ref.location, ref.branch));
    if (watch !== undefined) return this.#identify(ref, watch);
    return this.#openWatch(ref).then((opened) => this.#identify(ref, opened));
  }

  async describe(ref: TableRef) {
    const { value: schema, version } = await this.useAtVersion(ref, async ({ native }) => readSchema(native));
    return { version, schema };
  }

  async usePrivate<Value>(ref: TableRef, work: Work<Value>, use?: TableUse): Promise<Value> {
    const native = await this.openPrivate(ref, use);
    try {
      return await work(toOpenTable(native, ref.version));
    } finally {
      native.close();
    }
  }

  /** For creating a branch. */
  async withStagedRefs<Value>(location: TableLocation, work: () => Promise<Value>): Promise<Value> {
    return this.#connections.withStagedRefs(location, work);
  }

  /** The caller must close it. */
  async openPrivate(ref: TableRef, use?: TableUse): Promise<NativeTable> {
    const { location, version } = ref;
    const branch = findBranch(ref);
    if (branch !== undefined && Buffer.byteLength(branch) > BRANCH_LENGTH_MAX) throw branchNotFound(branch);
    const main = await this.#connections.openTable(location, use);
    if (branch === undefined) {
      if (version !== undefined) await checkoutOrClose(main, version);
      return main;
    }
    try {
      return await this.#connections.openPastTornManifests(location, branch, async () =>
        this.#connections.refuseZeros(
          await engineCall(async () => (await main.branches()).checkout(branch, version ?? null)),
        ),
      );
    } catch (error) {
      throw await correctMissingBranch(error, main, branch);
    } finally {
      main.close();
    }
  }

  /** `undefined` if there is no data or no such branch. */
  async findLatestVersion(target: TableRef): Promise<number | undefined> {
    try {
      return await this.usePrivate(target, async (table) => table.version());
    } catch (error) {
      const isMissing = error instanceof ServiceError && MISSING.has(error.kind);
      if (isMissing) return undefined;
      throw error;
    }
  }

  /**
   * Commits the contents of an earlier version again, and returns the new version. On an object store it directly
   * follows the base version (by default the latest) or conflicts.
   */
  async restoreVersion(target: WriteTarget, version: number, baseVersion?: number): Promise<number> {
    const { restoreVersion } = this.storages.of(target.location.root);
    if (restoreVersion !== undefined) {
      const base = baseVersion ?? (await this.usePrivate(target, async (table) => table.version()));
      if (await restoreVersion(target.location, target.branch, { version, baseVersion: base })) return base + 1;
      throw versionConflict(base);
    }
    return this.usePrivate({ ...target, version }, async ({ native }) => {
      await engineCall(async () => native.restore());
      return readVersion(native);
    });
  }

  /**
   * From now on, readers of the latest get this version. The catalog stores it too, for other processes and after a
   * crash; this covers readers that asked the catalog just before.
   */
  async hold({ location, branch }: WriteTarget, version: number): Promise<void> {
    this.#held.set(branchKey(location, branch), version);
    // An earlier reader may still be moving the shared handle forward: that must end before the first commit.
    const shared = await this.#shared.peek(locationKey(location))?.catch(() => undefined);
    await shared?.settled();
  }

  release({ location, branch }: WriteTarget): void {
    this.#held.delete(branchKey(location, branch));
  }

  releaseAll(): void {
    this.#held.clear();
  }

  /** The handle is closed as soon as it is idle; the next user opens a new one. */
  evict(location: TableLocation): void {
    this.#shared.delete(locationKey(location));
    this.#recorded.evict(location);
    this.#pinned.evict(location);
  }

  async close(): Promise<void> {
    await this.#recorded.close();
    await this.#pinned.close();
    const outcomes = await Promise.allSettled(this.#shared.values());
    for (const outcome of outcomes) if (outcome.status === 'fulfilled') outcome.value.retire();
    this.#shared.clear();
  }

  #identify(ref: TableRef, watch: VersionWatch): ContentIdentity | undefined {
    const version = this.#versionFor(ref);
    const { recorded } = ref;
    // A head never goes back, and a re-created table has another id.
    if (recorded !== undefined && version === undefined) {
      this.#recorded.pollSometimes(ref.location, recorded);
      return { text: `${recorded.tableId}:${recorded.version}`, version: recorded.version };
    }
    const stamp = watch.read();
    return stamp?.isSettled === true ? { text: `${stamp.text}:${version ?? ''}`, version } : undefined;
  }

  /** The latest version, for reading while the table is written. `undefined` if a private handle must be used. */
  async #pin(ref: TableRef): Promise<PinnedTable | undefined> {
    const { location } = ref;
    const { text, version } = await this.use(ref, async (table) => {
      return { text: this.#stampOf(ref), version: await versionNow(table) };
    });
    if (text === undefined || this.#versionFor(ref) !== undefined) return undefined;
    const open = async (): Promise<NativeTable> => this.openPrivate({ location, version });
    // Opening a private handle will show the error.
    return this.#pinned.acquire(location, { text, version }, open).catch(() => undefined);
  }

  /** Differs for another table in the same place. `undefined` if the storage has no stamps. */
  #stampOf({ location, recorded }: TableRef): string | undefined {
    return recorded?.tableId ?? this.#watches.get(branchKey(location, undefined))?.read()?.text;
  }

  /**
   * Ignores `#held` if the catalog has a recorded version: since a write of this node began, another node may have
   * taken the table.
   */
  #versionFor({ location, branch, version, recorded }: TableRef): number | undefined {
    return version ?? (recorded === undefined ? this.#held.get(branchKey(location, branch)) : undefined);
  }

  /** `undefined` if readers were held meanwhile. */
  async #acquireLatest(ref: TableRef): Promise<SharedTable | undefined> {
    const { location } = ref;
    for (let attempt = 1; attempt <= HANDLES_TRIED_MAX; attempt += 1) {
      const shared = await this.#find(location);
      if (this.#versionFor(ref) !== undefined) return undefined;
      // It may have been evicted and closed since it was opened.
      if (!shared.acquire()) continue;
      try {
        const isLatest = await this.#connections.openPastTornManifests(location, undefined, async () =>
          shared.refresh(),
        );
        if (isLatest) return shared;
      } catch (error) {
        if (attempt >= REFRESH_FAILURES_MAX) {
          this.#giveUp(location, shared);
          throw error;
        }
      }
      this.#giveUp(location, shared);
    }
    throw new ServiceError('ServiceUnavailable', 'The table is being dropped and created again too often to be read.', {
      retryAfterSeconds: 1,
    });
  }

  #giveUp(location: TableLocation, shared: SharedTable): void {
    this.evict(location);
    shared.release();
  }

  async #find(location: TableLocation): Promise<SharedTable> {
    const key = locationKey(location);
    const known = this.#shared.get(key);
    if (known === undefined) this.#misses += 1;
    else this.#hits += 1;
    const opening = known ?? this.#openShared(location);
    if (known === undefined) this.#shared.set(key, opening);
    try {
      return await opening;
    } catch (error) {
      if (this.#shared.peek(key) === opening) this.#shared.delete(key);
      throw error;
    }
  }

  async #openShared(location: TableLocation): Promise<SharedTable> {
    const native = await this.#connections.openTable(location);
    const known = this.#watches.get(branchKey(location, undefined));
    return SharedTable.open(native, known ?? (await this.#openWatch({ location })));
  }

  /** One for each branch: the stamps that it reads are shared. */
  async #openWatch({ location, branch }: TableRef): Promise<VersionWatch> {
    const watch = await this.storages.of(location.root).watchVersions(location, branch);
    this.#watches.set(branchKey(location, branch), watch);
    return watch;
  }
}

export function versionConflict(base: number): ServiceError {
  const cause = new Error(`Concurrent modification: version ${base} is no longer the latest.`);
  return new ServiceError('ConcurrentModification', 'Another write changed the table in the meantime.', { cause });
}

/** `undefined` for the main branch. */
function findBranch({ branch }: TableRef): string | undefined {
  return branch === MAIN_BRANCH ? undefined : branch;
}

async function versionNow(table: OpenTable): Promise<number> {
  return table.knownVersion() ?? readVersion(table.native);
}

async function checkoutOrClose(native: NativeTable, version: number): Promise<void> {
  try {
    await engineCall(async () => native.checkout(version));
  } catch (error) {
    native.close();
    throw error;
  }
}

/** The engine only looks for the version, and blames it if the whole branch is missing. */
async function correctMissingBranch(error: unknown, main: NativeTable, branch: string): Promise<unknown> {
  const mayBeDeleted = isDataMissing(error) || (error instanceof ServiceError && error.kind === 'TableVersionNotFound');
  if (!mayBeDeleted) return error;
  const branches = await retryListing(async () => (await main.branches()).list());
  return Object.hasOwn(branches, branch) ? error : branchNotFound(branch);
}
