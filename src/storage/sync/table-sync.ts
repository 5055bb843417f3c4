import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../errors/service-error.ts';
import { SharedRuns } from '../../model/time/shared-runs.ts';
import type { SyncScope } from '../storage.ts';
import { DISK, DirtyPaths, isShortage, syncPaths } from './file-sync.ts';
import type { FileSync } from './file-sync.ts';
import { findChangedSince } from './folder-tree.ts';
import { prepare, takeDirtyPaths } from './sync-state.ts';
import type { SyncState } from './sync-state.ts';

export interface SyncSettings {
  /** `full`: on disk before the reply. `os`: when the operating system writes it back. */
  readonly sync: 'full' | 'os';
  /** How many tables are watched for dirty paths at once. */
  readonly watchedTablesMax: number;
  /** The disk that commits are synced to; tests may replace it. */
  readonly disk?: FileSync;
  /** How long to retry a sync while the process lacks file handles or memory. */
  readonly shortageMilliseconds?: number;
}

const SHORTAGE_MILLISECONDS = 3000;

const NO_SYNC: SyncScope = { sync: async () => {}, end: () => {} };

/**
 * Makes the commits of local tables durable; the engine itself syncs nothing. Concurrent writers of a table share a
 * sync: one that begins after a commit covers it and all earlier ones.
 */
export class TableSync {
  readonly #settings: Required<SyncSettings>;
  /** By the table's folder. */
  readonly #tables = new Map<string, SyncState>();
  /** Folders. After a failed sync the state of the disk is unknown, even if a later sync succeeds. */
  readonly #failed = new Set<string>();
  #syncCount = 0;

  constructor(settings: SyncSettings) {
    this.#settings = { disk: DISK, shortageMilliseconds: SHORTAGE_MILLISECONDS, ...settings };
  }

  /** Files and folders synced since the start. */
  get syncCount(): number {
    return this.#syncCount;
  }

  async begin(folder: string): Promise<SyncScope> {
    if (this.#settings.sync === 'os') return NO_SYNC;
    this.#refuseFailed(folder);
    const state = this.#find(folder);
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

  async syncSince(folder: string, sinceMilliseconds: number): Promise<void> {
    if (this.#settings.sync === 'os') return;
    this.#refuseFailed(folder);
    await this.#attempt(folder, async () => this.#sync(await findChangedSince(folder, sinceMilliseconds)));
  }

  /** Makes files durable that another program wrote, and their folders, up to that of the table. */
  async syncFiles(folder: string, files: readonly string[]): Promise<void> {
    if (this.#settings.sync === 'os') return;
    this.#refuseFailed(folder);
    const dirty = new DirtyPaths();
    for (const file of files) {
      dirty.files.add(file);
      for (let above = dirname(file); above.length >= folder.length; above = dirname(above)) dirty.folders.add(above);
    }
    await this.#attempt(folder, async () => this.#sync(dirty));
  }

  forget(folder: string): void {
    this.#failed.delete(folder);
    const state = this.#tables.get(folder);
    if (state === undefined) return;
    state.watch?.close();
    state.watch = undefined;
    state.dirty = new DirtyPaths();
    state.isOverdue = false;
    // A writer that still uses it may create a table there again.
    state.since = 0;
    if (state.users === 0) this.#tables.delete(folder);
  }

  close(): void {
    for (const { watch } of this.#tables.values()) watch?.close();
    this.#tables.clear();
  }

  #refuseFailed(folder: string): void {
    if (!this.#failed.has(folder)) return;
    throw unavailable(`The disk failed to store an earlier write. ${READ_ONLY}`, DISK_FAILED_SECONDS);
  }

  #find(folder: string): SyncState {
    const state = this.#tables.get(folder) ?? { folder, dirty: new DirtyPaths(), isOverdue: false, users: 0 };
    // Move to the end: the map is in order of last use.
    this.#tables.delete(folder);
    this.#tables.set(folder, state);
    return state;
  }

  #end(state: SyncState): void {
    state.users -= 1;
    if (state.users === 0) this.#evictIdle();
  }

  #evictIdle(): void {
    if (this.#tables.size <= this.#settings.watchedTablesMax) return;
    for (const state of this.#tables.values()) {
      if (state.users > 0 || state.isOverdue) continue;
      state.watch?.close();
      this.#tables.delete(state.folder);
      return;
    }
  }

  /** Called before a write: a refusal here has changed nothing. */
  async #flushOverdue(state: SyncState): Promise<void> {
    try {
      await this.#flush(state);
    } catch (cause) {
      this.#refuseFailed(state.folder);
      const message = `${SHORT_OF_RESOURCES} to sync an earlier write. This write was not applied.`;
      throw unavailable(message, SHORTAGE_SECONDS, cause);
    }
  }

  async #flush(state: SyncState): Promise<void> {
    state.flushes ??= new SharedRuns(async () => this.#flushNow(state));
    return state.flushes.run();
  }

  async #flushNow(state: SyncState): Promise<void> {
    if (this.#failed.has(state.folder)) throw notSynced(new Error('An earlier sync of the table failed.'));
    try {
      await this.#attempt(state.folder, async () => {
        const taken = await takeDirtyPaths(state);
        state.dirty.add(taken);
        await this.#sync(state.dirty);
        state.dirty = new DirtyPaths();
      });
      state.isOverdue = false;
    } catch (error) {
      state.isOverdue = !this.#failed.has(state.folder);
      throw error;
    }
  }

  async #sync(paths: DirtyPaths): Promise<void> {
    const sync = async (path: string): Promise<void> => {
      await this.#settings.disk.sync(path);
      this.#syncCount += 1;
    };
    await syncPaths({ sync }, paths);
  }

  /** Retries while resources are short. Any other failure makes the table read-only. */
  async #attempt(folder: string, sync: () => Promise<void>): Promise<void> {
    const giveUpAt = performance.now() + this.#settings.shortageMilliseconds;
    for (let pause = PAUSE_MILLISECONDS_MIN; ; pause = Math.min(2 * pause, PAUSE_MILLISECONDS_MAX)) {
      try {
        await sync();
        return;
      } catch (error) {
        if (!isShortage(error)) {
          this.#failed.add(folder);
          throw notSynced(error);
        }
        if (performance.now() + pause > giveUpAt) {
          const message = `${SHORT_OF_RESOURCES} to sync the write. It is not known whether it was applied.`;
          throw inDoubt(message, SHORTAGE_SECONDS, error);
        }
        await sleep(pause);
      }
    }
  }
}

const PAUSE_MILLISECONDS_MIN = 10;
const PAUSE_MILLISECONDS_MAX = 500;

const SHORT_OF_RESOURCES = 'The server does not have enough file handles or memory';
const SHORTAGE_SECONDS = 5;
const READ_ONLY = 'The table is read-only until the server restarts.';
const DISK_FAILED_SECONDS = 60;

function notSynced(cause: unknown): ServiceError {
  const message = `The disk failed to store the write. It is not known whether it was applied. ${READ_ONLY}`;
  return inDoubt(message, DISK_FAILED_SECONDS, cause);
}

function inDoubt(message: string, retryAfterSeconds: number, cause: unknown): ServiceError {
  return new ServiceError('ServiceUnavailable', message, { cause, retryAfterSeconds, outcome: 'unknown' });
}

function unavailable(message: string, retryAfterSeconds: number, cause?: unknown): ServiceError {
  return new ServiceError('ServiceUnavailable', message, { cause, retryAfterSeconds });
}
