import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { ServiceError } from '../errors/service-error.ts';
import { syncPaths } from './file-sync.ts';
import type { DirtyPaths, FileSync } from './file-sync.ts';
import { findChangedSince } from './folder-tree.ts';
import { FolderWatch } from './folder-watch.ts';
import type { SyncScope } from './storage.ts';

/** `full`: on disk before the answer. `os`: whenever the operating system writes it back. */
export type SyncMode = 'full' | 'os';

export interface SyncSettings {
  readonly mode: SyncMode;
  readonly disk: FileSync;
  /** How many tables are watched at once. */
  readonly tablesMax: number;
}

interface SyncState {
  readonly key: string;
  readonly folder: string;
  watch: FolderWatch | undefined;
  /** Unwatched since then: scan for what changed after it; 0 = full scan. Not set while the folder is watched. */
  since: number | undefined;
  users: number;
  preparing: Promise<void> | undefined;
  running: Promise<void> | undefined;
  waiting: Promise<void> | undefined;
}

/** Folders of new indexes and branches are watched too; past this the watch begins again. */
const WATCHED_FOLDERS_MAX = 200;

const NO_SYNC: SyncScope = { sync: async () => {}, end: () => {} };

/**
 * Makes the commits of local tables durable. The engine itself syncs nothing. Concurrent writers of one table share a
 * sync: one that begins after a commit covers it and all before.
 */
export class TableSync {
  readonly #settings: SyncSettings;
  readonly #tables = new Map<string, SyncState>();
  /** After a failed sync the state of the disk is unknown; even a later sync that succeeds does not show it. */
  readonly #failed = new Set<string>();

  constructor(settings: SyncSettings) {
    this.#settings = settings;
  }

  async begin(key: string, folder: string): Promise<SyncScope> {
    if (this.#settings.mode === 'os') return NO_SYNC;
    this.#refuseFailed(key);
    const state = this.#find(key, folder);
    state.users += 1;
    try {
      await prepare(state);
    } catch (error) {
      this.#end(state);
      throw error;
    }
    return { sync: async () => this.#flush(state), end: () => this.#end(state) };
  }

  async syncSince(key: string, folder: string, sinceMilliseconds: number): Promise<void> {
    if (this.#settings.mode === 'os') return;
    await this.#write(key, await findChangedSince(folder, sinceMilliseconds));
  }

  forget(key: string): void {
    this.#failed.delete(key);
    const state = this.#tables.get(key);
    if (state === undefined) return;
    state.watch?.close();
    state.watch = undefined;
    // Whoever still uses it may write a table there again.
    state.since = 0;
    if (state.users === 0) this.#tables.delete(key);
  }

  close(): void {
    for (const { watch } of this.#tables.values()) watch?.close();
    this.#tables.clear();
  }

  #refuseFailed(key: string): void {
    if (this.#failed.has(key)) throw readOnly();
  }

  #find(key: string, folder: string): SyncState {
    const known = this.#tables.get(key);
    const state = known ?? newState(key, folder);
    // Put at the end: the order of the map is the order of use.
    this.#tables.delete(key);
    this.#tables.set(key, state);
    return state;
  }

  #end(state: SyncState): void {
    state.users -= 1;
    if (state.users === 0) this.#evictIdle();
  }

  #evictIdle(): void {
    if (this.#tables.size <= this.#settings.tablesMax) return;
    for (const state of this.#tables.values()) {
      if (state.users > 0) continue;
      state.watch?.close();
      this.#tables.delete(state.key);
      return;
    }
  }

  async #flush(state: SyncState): Promise<void> {
    // One that is already running may have looked before this commit; the next one will not.
    state.waiting ??= this.#flushNext(state);
    return state.waiting;
  }

  async #flushNext(state: SyncState): Promise<void> {
    await state.running?.catch(() => {});
    state.waiting = undefined;
    if (this.#failed.has(state.key)) throw notSynced(new Error('An earlier sync of the table failed.'));
    state.running = this.#flushNow(state);
    return state.running;
  }

  async #flushNow(state: SyncState): Promise<void> {
    await this.#write(state.key, await takeDirtyPaths(state).catch((error: unknown) => this.#fail(state.key, error)));
  }

  async #write(key: string, paths: DirtyPaths): Promise<void> {
    try {
      await syncPaths(this.#settings.disk, paths);
    } catch (error) {
      this.#fail(key, error);
    }
  }

  #fail(key: string, cause: unknown): never {
    this.#failed.add(key);
    throw notSynced(cause);
  }
}

function newState(key: string, folder: string): SyncState {
  const nothing = { watch: undefined, since: undefined, preparing: undefined, running: undefined, waiting: undefined };
  return { key, folder, users: 0, ...nothing };
}

/** Before the write: from now on new files are noticed. */
async function prepare(state: SyncState): Promise<void> {
  state.preparing ??= openWatch(state).finally(() => {
    state.preparing = undefined;
  });
  await state.preparing;
}

async function openWatch(state: SyncState): Promise<void> {
  const { watch, folder } = state;
  if (watch !== undefined) {
    if (isUsable(watch)) return;
    state.since ??= watch.askedAt;
    watch.close();
  }
  state.watch = await FolderWatch.open(folder);
  if (state.watch === undefined) state.since ??= existsSync(folder) ? Date.now() : 0;
}

function isUsable(watch: FolderWatch): boolean {
  return !watch.isBroken && watch.size > 0 && watch.size <= WATCHED_FOLDERS_MAX;
}

async function takeDirtyPaths(state: SyncState): Promise<DirtyPaths> {
  const { watch, folder } = state;
  const isWatched = watch !== undefined && isUsable(watch);
  // A watch that broke after the write began may have missed some of it.
  const since = state.since ?? (watch?.isBroken === true ? watch.askedAt : undefined);
  state.since = isWatched ? undefined : Date.now();
  const seen = watch === undefined ? { files: [], folders: [] } : await watch.take();
  if (since === undefined) return seen;
  const changed = await findChangedSince(folder, since);
  const files = [...new Set([...seen.files, ...changed.files])];
  // The folder of a new table has an entry above it.
  return { files, folders: [...new Set([...seen.folders, ...changed.folders, dirname(folder)])] };
}

function notSynced(cause: unknown): ServiceError {
  return new ServiceError(
    'ServiceUnavailable',
    'The disk failed to keep the write, which may have been made or not. The table is read-only until the service starts again.',
    { cause, retryAfterSeconds: 60 },
  );
}

function readOnly(): ServiceError {
  return new ServiceError(
    'ServiceUnavailable',
    'The disk failed to keep an earlier write. The table is read-only until the service starts again.',
    { retryAfterSeconds: 60 },
  );
}
