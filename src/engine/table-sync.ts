import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ServiceError } from '../errors/service-error.ts';
import { placeKey, placeLocation } from '../model/table.ts';
import type { Place } from '../model/table.ts';
import { isRemote } from './connections.ts';
import { syncPaths } from './file-sync.ts';
import type { FileSync, NewPaths } from './file-sync.ts';
import { findChangedSince } from './folder-tree.ts';
import { FolderWatch } from './folder-watch.ts';

/** `full`: on disk before the answer. `os`: whenever the operating system writes it back. */
export type SyncMode = 'full' | 'os';

export interface SyncSettings {
  readonly mode: SyncMode;
  readonly disk: FileSync;
  /** How many tables are watched at once. */
  readonly tablesMax: number;
}

interface Synced {
  readonly key: string;
  readonly folder: string;
  watch: FolderWatch | undefined;
  /** Whatever was made since then is to be looked for; 0 is for everything. Not set while it is watched. */
  since: number | undefined;
  users: number;
  preparing: Promise<void> | undefined;
  running: Promise<void> | undefined;
  waiting: Promise<void> | undefined;
}

/** Folders of new indexes and branches are watched too; past this the watch begins again. */
const WATCHED_FOLDERS_MAX = 200;

/**
 * Makes the commits of local tables durable. The engine itself syncs nothing. Those who wait for one table share a sync:
 * the one that begins after a commit covers it and all before.
 */
export class TableSync {
  readonly #settings: SyncSettings;
  readonly #tables = new Map<string, Synced>();
  /** Nobody knows what is on disk after a failed sync, not even a sync that succeeds later. */
  readonly #failed = new Set<string>();

  constructor(settings: SyncSettings) {
    this.#settings = settings;
  }

  /**
   * Runs a write, which calls `begin` right before the engine does its work, in the lane of the table or beside it. What
   * it gives is handed on when all that it has made is on disk.
   */
  async track<Value>(place: Place, write: (begin: () => Promise<void>) => Promise<Value>): Promise<Value> {
    const folder = this.#settings.mode === 'full' ? localFolder(place) : undefined;
    if (folder === undefined) return write(async () => {});
    this.refuseFailed(place);
    const synced = this.#find(placeKey(place), folder);
    synced.users += 1;
    try {
      const value = await write(async () => {
        this.refuseFailed(place);
        await prepare(synced);
      });
      await this.#flush(synced);
      return value;
    } finally {
      synced.users -= 1;
      if (synced.users === 0) this.#evictIdle();
    }
  }

  /** For a table of which a former process may have left commits that it had not synced yet. */
  async syncSince(place: Place, sinceMilliseconds: number): Promise<void> {
    const folder = this.#settings.mode === 'full' ? localFolder(place) : undefined;
    if (folder === undefined) return;
    await this.#write(placeKey(place), await findChangedSince(folder, sinceMilliseconds));
  }

  refuseFailed(place: Place): void {
    if (this.#failed.has(placeKey(place))) throw readOnly();
  }

  /** The table is gone. */
  forget(place: Place): void {
    const key = placeKey(place);
    this.#tables.get(key)?.watch?.close();
    this.#tables.delete(key);
    this.#failed.delete(key);
  }

  close(): void {
    for (const { watch } of this.#tables.values()) watch?.close();
    this.#tables.clear();
  }

  #find(key: string, folder: string): Synced {
    const known = this.#tables.get(key);
    const synced = known ?? newSynced(key, folder);
    // Put at the end: the order of the map is the order of use.
    this.#tables.delete(key);
    this.#tables.set(key, synced);
    return synced;
  }

  #evictIdle(): void {
    if (this.#tables.size <= this.#settings.tablesMax) return;
    for (const synced of this.#tables.values()) {
      if (synced.users > 0) continue;
      synced.watch?.close();
      this.#tables.delete(synced.key);
      return;
    }
  }

  async #flush(synced: Synced): Promise<void> {
    // One that is already running may have looked before this commit; the next one will not.
    synced.waiting ??= this.#flushNext(synced);
    return synced.waiting;
  }

  async #flushNext(synced: Synced): Promise<void> {
    await synced.running?.catch(() => {});
    synced.waiting = undefined;
    if (this.#failed.has(synced.key)) throw notSynced(new Error('An earlier sync of the table failed.'));
    synced.running = this.#flushNow(synced);
    return synced.running;
  }

  async #flushNow(synced: Synced): Promise<void> {
    await this.#write(synced.key, await takeNews(synced).catch((error: unknown) => this.#fail(synced.key, error)));
  }

  async #write(key: string, paths: NewPaths): Promise<void> {
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

function newSynced(key: string, folder: string): Synced {
  const nothing = { watch: undefined, since: undefined, preparing: undefined, running: undefined, waiting: undefined };
  return { key, folder, users: 0, ...nothing };
}

/** Before the write: from now on new files are noticed. */
async function prepare(synced: Synced): Promise<void> {
  synced.preparing ??= openWatch(synced).finally(() => {
    synced.preparing = undefined;
  });
  await synced.preparing;
}

async function openWatch(synced: Synced): Promise<void> {
  const { watch, folder } = synced;
  if (watch !== undefined) {
    if (isUsable(watch)) return;
    synced.since ??= watch.askedAt;
    watch.close();
  }
  synced.watch = await FolderWatch.open(folder);
  if (synced.watch === undefined) synced.since ??= existsSync(folder) ? Date.now() : 0;
}

function isUsable(watch: FolderWatch): boolean {
  return !watch.isBroken && watch.size > 0 && watch.size <= WATCHED_FOLDERS_MAX;
}

async function takeNews(synced: Synced): Promise<NewPaths> {
  const { watch, since, folder } = synced;
  const isWatched = watch !== undefined && isUsable(watch);
  synced.since = isWatched ? undefined : Date.now();
  const news = watch === undefined ? { files: [], folders: [] } : await watch.take();
  if (since === undefined) return news;
  const changed = await findChangedSince(folder, since);
  const files = [...new Set([...news.files, ...changed.files])];
  // The folder of a new table has an entry above it.
  return { files, folders: [...new Set([...news.folders, ...changed.folders, dirname(folder)])] };
}

function localFolder(place: Place): string | undefined {
  const location = placeLocation(place);
  if (!isRemote(place.root)) return location;
  return place.root.startsWith('file://') ? fileURLToPath(location) : undefined;
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
