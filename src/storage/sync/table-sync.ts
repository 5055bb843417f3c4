import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../errors/service-error.ts';
import type { SyncScope } from '../storage.ts';
import { isShortage, syncPaths } from './file-sync.ts';
import type { FileSync } from './file-sync.ts';
import { findChangedSince } from './folder-tree.ts';
import { NO_PATHS, joinPaths, prepare, takeDirtyPaths } from './sync-state.ts';
import type { SyncState } from './sync-state.ts';

/** `full`: on disk before the answer. `os`: whenever the operating system writes it back. */
export type SyncMode = 'full' | 'os';

export interface SyncSettings {
  readonly mode: SyncMode;
  readonly disk: FileSync;
  /** How many tables are watched at once. */
  readonly tablesMax: number;
  /** How long a sync is tried again while the process lacks file handles or memory. */
  readonly shortageMilliseconds: number;
}

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
      if (state.isOverdue) await this.#flushOverdue(state);
    } catch (error) {
      this.#end(state);
      throw error;
    }
    return { sync: async () => this.#flush(state), end: () => this.#end(state) };
  }

  async syncSince(key: string, folder: string, sinceMilliseconds: number): Promise<void> {
    if (this.#settings.mode === 'os') return;
    this.#refuseFailed(key);
    await this.#attempt(key, async () =>
      syncPaths(this.#settings.disk, await findChangedSince(folder, sinceMilliseconds)),
    );
  }

  forget(key: string): void {
    this.#failed.delete(key);
    const state = this.#tables.get(key);
    if (state === undefined) return;
    state.watch?.close();
    state.watch = undefined;
    state.dirty = NO_PATHS;
    state.isOverdue = false;
    // A writer that still uses it may create a table there again.
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
    const state = this.#tables.get(key) ?? { key, folder, dirty: NO_PATHS, isOverdue: false, users: 0 };
    // Moved to the end: the order of the map is the order of use.
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
      if (state.users > 0 || state.isOverdue) continue;
      state.watch?.close();
      this.#tables.delete(state.key);
      return;
    }
  }

  /** Before a write, which has changed nothing when it is refused here. */
  async #flushOverdue(state: SyncState): Promise<void> {
    try {
      await this.#flush(state);
    } catch (cause) {
      this.#refuseFailed(state.key);
      throw shortOfResources(cause);
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
    try {
      await this.#attempt(state.key, async () => {
        state.dirty = joinPaths(state.dirty, await takeDirtyPaths(state));
        await syncPaths(this.#settings.disk, state.dirty);
        state.dirty = NO_PATHS;
      });
      state.isOverdue = false;
    } catch (error) {
      state.isOverdue = !this.#failed.has(state.key);
      throw error;
    }
  }

  /** Tries again while resources are short. Any other failure makes the table read-only. */
  async #attempt(key: string, sync: () => Promise<void>): Promise<void> {
    const giveUpAt = performance.now() + this.#settings.shortageMilliseconds;
    for (let pause = PAUSE_MILLISECONDS_MIN; ; pause = Math.min(2 * pause, PAUSE_MILLISECONDS_MAX)) {
      try {
        await sync();
        return;
      } catch (error) {
        if (!isShortage(error)) {
          this.#failed.add(key);
          throw notSynced(error);
        }
        if (performance.now() + pause > giveUpAt) throw notSyncedYet(error);
        await sleep(pause);
      }
    }
  }
}

const PAUSE_MILLISECONDS_MIN = 10;
const PAUSE_MILLISECONDS_MAX = 500;

function notSynced(cause: unknown): ServiceError {
  const message =
    'The disk failed to keep the write, which may have been made or not. The table is read-only until the service starts again.';
  return new ServiceError('ServiceUnavailable', message, { cause, retryAfterSeconds: 60 });
}

function notSyncedYet(cause: unknown): ServiceError {
  const message = 'The service lacks file handles or memory to sync the write, which may have been made or not.';
  return new ServiceError('ServiceUnavailable', message, { cause, retryAfterSeconds: 5 });
}

function shortOfResources(cause: unknown): ServiceError {
  const message = 'The service lacks file handles or memory to sync an earlier write. This write was not made.';
  return new ServiceError('ServiceUnavailable', message, { cause, retryAfterSeconds: 5 });
}

function readOnly(): ServiceError {
  const message = 'The disk failed to keep an earlier write. The table is read-only until the service starts again.';
  return new ServiceError('ServiceUnavailable', message, { retryAfterSeconds: 60 });
}
