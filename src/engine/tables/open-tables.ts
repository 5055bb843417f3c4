import { ServiceError } from '../../errors/service-error.ts';
import { branchNotFound } from '../../model/refusals.ts';
import { MAIN_BRANCH, branchKey, locationKey } from '../../model/table.ts';
import type { TableLocation, TableState } from '../../model/table.ts';
import type { Storages } from '../../storage/storages.ts';
import type { Connections } from '../native/connections.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';
import { readSchema, toOpenTable, SharedTable } from './table-handle.ts';
import type { OpenTable, TableDescription } from './table-handle.ts';

/** A handle that fails may have been overtaken by a removal; a new one then tells what is wrong. */
const REFRESH_FAILURES_MAX = 3;
/** A handle may also be closed, or left behind by a table that was made again, before it could be used. */
const HANDLES_TRIED_MAX = 20;

/** No folder has a longer name; the storage fails when it is asked for one. */
const BRANCH_LENGTH_MAX = 255;

type BranchOfTable = Pick<TableState, 'location' | 'branch'>;

type Work<Value> = (table: OpenTable) => Promise<Value>;

/**
 * Keeps the latest state of the most recently used tables open. A version or a branch is opened for one piece of work
 * alone: the engine's handles are mutable, so a reader of the latest must never meet one that was moved elsewhere.
 */
export class OpenTables {
  readonly #connections: Connections;
  readonly #openTablesMax: number;
  readonly #shared = new Map<string, Promise<SharedTable>>();
  /** The versions at which readers of the latest are kept, while a write takes several commits. */
  readonly #held = new Map<string, number>();
  #hits = 0;
  #misses = 0;

  constructor(connections: Connections, openTablesMax: number) {
    this.#connections = connections;
    this.#openTablesMax = openTablesMax;
  }

  get storages(): Storages {
    return this.#connections.storages;
  }

  /** How many are open now, and how often one that was wanted was there. */
  counts(): { readonly open: number; readonly hits: number; readonly misses: number } {
    return { open: this.#shared.size, hits: this.#hits, misses: this.#misses };
  }

  /** Whatever was acknowledged before this call, by any process, is seen by the work. */
  async use<Value>(asked: TableState, work: Work<Value>): Promise<Value> {
    const state = asked.branch === MAIN_BRANCH ? { ...asked, branch: undefined } : asked;
    const version = this.#versionFor(state);
    if (state.branch !== undefined || version !== undefined) return this.usePrivate({ ...state, version }, work);
    const shared = await this.#acquireLatest(state);
    if (shared === undefined) return this.use(state, work);
    try {
      return await work(shared);
    } finally {
      shared.release();
    }
  }

  async describe(state: TableState): Promise<TableDescription> {
    // While others write through the shared handle, its version and its schema may be of different moments.
    const described = await this.use(state, describeOnce);
    return described ?? this.usePrivate({ ...state, version: this.#versionFor(state) }, requireDescription);
  }

  /**
   * From now on readers of the latest get this version. The catalog keeps it too, for other processes and for after a
   * crash; this serves the readers who asked the catalog just before.
   */
  async hold({ location, branch }: BranchOfTable, version: number): Promise<void> {
    this.#held.set(branchKey(location, branch), version);
    // A reader who came before may still be moving the shared handle forward: that must end before the first commit.
    const shared = await this.#shared.get(locationKey(location))?.catch(() => undefined);
    await shared?.settled();
  }

  release({ location, branch }: BranchOfTable): void {
    this.#held.delete(branchKey(location, branch));
  }

  /** A handle that nobody else has. */
  async usePrivate<Value>(state: TableState, work: Work<Value>): Promise<Value> {
    const native = await this.openPrivate(state);
    try {
      return await work(toOpenTable(native));
    } finally {
      native.close();
    }
  }

  /** The same, to be closed by whoever asked for it. */
  async openPrivate({ location, branch, version }: TableState): Promise<NativeTable> {
    if (branch !== undefined && Buffer.byteLength(branch) > BRANCH_LENGTH_MAX) throw branchNotFound(branch);
    const main = await this.#connections.openTable(location);
    if (branch === undefined) {
      if (version !== undefined) await closingOnFailure(main, async () => main.checkout(version));
      return main;
    }
    try {
      return await this.#connections.openWhole(location, branch, async () =>
        engineCall(async () => (await main.branches()).checkout(branch, version ?? null)),
      );
    } catch (error) {
      throw await tellMissingBranch(error, main, branch);
    } finally {
      main.close();
    }
  }

  /** The handle is closed as soon as nobody uses it; the next user opens a new one. */
  evict(location: TableLocation): void {
    const key = locationKey(location);
    const opening = this.#shared.get(key);
    this.#shared.delete(key);
    if (opening !== undefined) retireSoon(opening);
  }

  async close(): Promise<void> {
    const outcomes = await Promise.allSettled(this.#shared.values());
    this.#shared.clear();
    for (const outcome of outcomes) if (outcome.status === 'fulfilled') outcome.value.retire();
  }

  /** The one that was asked for, or the one at which readers are held. */
  #versionFor({ location, branch, version }: TableState): number | undefined {
    return version ?? this.#held.get(branchKey(location, branch));
  }

  /** `undefined` when readers have been held in the meantime. */
  async #acquireLatest(state: TableState): Promise<SharedTable | undefined> {
    const { location } = state;
    for (let attempt = 1; attempt <= HANDLES_TRIED_MAX; attempt += 1) {
      const shared = await this.#find(location);
      if (this.#versionFor(state) !== undefined) return undefined;
      // It may have been evicted, and closed, between its opening and now.
      if (!shared.acquire()) continue;
      try {
        if (await this.#connections.openWhole(location, undefined, async () => shared.refresh())) return shared;
      } catch (error) {
        if (attempt >= REFRESH_FAILURES_MAX) throw error;
      }
      this.evict(location);
      shared.release();
    }
    throw neverStill();
  }

  async #find(location: TableLocation): Promise<SharedTable> {
    const key = locationKey(location);
    const known = this.#shared.get(key);
    if (known === undefined) this.#misses += 1;
    else this.#hits += 1;
    const opening = known ?? this.#openShared(location);
    // Put at the end: the order of the map is the order of use.
    this.#shared.delete(key);
    this.#shared.set(key, opening);
    if (known === undefined) this.#evictOldest();
    try {
      return await opening;
    } catch (error) {
      if (this.#shared.get(key) === opening) this.#shared.delete(key);
      throw error;
    }
  }

  #evictOldest(): void {
    if (this.#shared.size <= this.#openTablesMax) return;
    for (const [key, opening] of this.#shared) {
      this.#shared.delete(key);
      retireSoon(opening);
      return;
    }
  }

  async #openShared(location: TableLocation): Promise<SharedTable> {
    const native = await this.#connections.openTable(location);
    return SharedTable.open(native, await this.storages.of(location.root).watchVersions(location));
  }
}

/** Those who wait for it to open come first: when many tables are used at once they would else wait again and again. */
function retireSoon(opening: Promise<SharedTable>): void {
  opening.then(
    (shared) => setImmediate(() => shared.retire()),
    () => {},
  );
}

function neverStill(): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The table is being removed and made again too often to be read.', {
    retryAfterSeconds: 1,
  });
}

/** The engine looks for the version only, and blames it when the whole branch is not there. */
async function tellMissingBranch(error: unknown, main: NativeTable, branch: string): Promise<unknown> {
  if (!(error instanceof ServiceError) || error.kind !== 'TableVersionNotFound') return error;
  const branches = await engineCall(async () => (await main.branches()).list());
  return Object.hasOwn(branches, branch) ? error : branchNotFound(branch);
}

async function describeOnce({ native }: OpenTable): Promise<TableDescription | undefined> {
  const version = await engineCall(async () => native.version());
  const schema = await readSchema(native);
  const versionAfter = await engineCall(async () => native.version());
  return version === versionAfter ? { version, schema } : undefined;
}

async function requireDescription({ native }: OpenTable): Promise<TableDescription> {
  const version = await engineCall(async () => native.version());
  return { version, schema: await readSchema(native) };
}

async function closingOnFailure(native: NativeTable, step: () => Promise<void>): Promise<void> {
  try {
    await engineCall(step);
  } catch (error) {
    native.close();
    throw error;
  }
}

export interface Served<Value> {
  readonly value: Value;
  /** The version that the work saw. */
  readonly version: number;
}

/** Reads a table and tells at which version. The work may be done twice. */
export async function readServed<Value>(
  tables: OpenTables,
  state: TableState,
  work: (table: OpenTable) => Promise<Value>,
): Promise<Served<Value>> {
  const served = await tables.use(state, async (table) => serveOnce(table, work));
  if (served !== undefined) return served;
  // While others write through the shared handle it is not known what the work saw; nobody else moves this one.
  return tables.usePrivate(state, async (table) => {
    const version = await readVersion(table);
    return { value: await work(table), version };
  });
}

async function serveOnce<Value>(
  table: OpenTable,
  work: (table: OpenTable) => Promise<Value>,
): Promise<Served<Value> | undefined> {
  const version = await readVersion(table);
  const value = await work(table);
  return version === (await readVersion(table)) ? { value, version } : undefined;
}

async function readVersion({ native }: OpenTable): Promise<number> {
  return engineCall(async () => native.version());
}
