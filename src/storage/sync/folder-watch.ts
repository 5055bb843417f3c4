import { lstatSync, statSync, watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { DirtyPaths, isMissing } from './file-sync.ts';
import { findChangedSince, isExpendable, isUnfinished, listFolder } from './folder-tree.ts';

/** Folders of a table or branch that have many files and never new folders. */
const LEAVES = new Set(['data', '_versions', '_deletions']);

interface Watched {
  readonly watcher: FSWatcher;
  /** Dirty names since the last call of `take`. */
  readonly names: Set<string>;
  /** Whether there was any event since then, including those about names that are not synced. */
  hasEvents: boolean;
  stamp: string;
}

/** Folders of new indexes and branches are watched too; beyond this number, the watch starts again. */
const WATCHED_FOLDERS_MAX = 200;

/**
 * Collects the dirty paths of a table from kernel events. Listing the folders takes 30 ms at ten thousand versions; the
 * kernel has queued an event by the time the call that created the file returns.
 */
export class FolderWatch {
  readonly #watched = new Map<string, Watched>();
  #takenAt = Date.now();
  #isBroken = false;

  private constructor() {}

  /** `undefined` if there is no such folder, or folders cannot be watched. */
  static async open(root: string): Promise<FolderWatch | undefined> {
    if (process.platform !== 'linux') return undefined;
    const opened = new FolderWatch();
    await opened.#watchTree(root);
    if (!opened.#isBroken && opened.#watched.size > 0) return opened;
    opened.close();
    return undefined;
  }

  /** Everything created before this time has been taken. */
  get takenAt(): number {
    return this.#takenAt;
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  get isUsable(): boolean {
    const { size } = this.#watched;
    return !this.#isBroken && size > 0 && size <= WATCHED_FOLDERS_MAX;
  }

  close(): void {
    for (const { watcher } of this.#watched.values()) watcher.close();
    this.#watched.clear();
  }

  /** Includes everything created by calls that have returned, and possibly more. */
  async take(): Promise<DirtyPaths> {
    const since = this.#takenAt;
    this.#takenAt = Date.now();
    await eventsRead();
    const silent = this.#findSilent();
    if (silent.length > 0) await eventsRead();
    const found = new DirtyPaths();
    for (const [folder, { names }] of this.#watched) await this.#takeNames(folder, names, found);
    for (const folder of silent) {
      if (this.#watched.get(folder)?.hasEvents === false) found.add(await findChangedSince(folder, since));
    }
    for (const watched of this.#watched.values()) watched.hasEvents = false;
    return found;
  }

  /** Folders that changed without an event: some file systems send none. */
  #findSilent(): readonly string[] {
    const silent: string[] = [];
    for (const [folder, watched] of this.#watched) {
      const stamp = readStamp(folder);
      if (stamp === undefined) {
        watched.watcher.close();
        this.#watched.delete(folder);
        continue;
      }
      if (stamp !== watched.stamp && !watched.hasEvents) silent.push(folder);
      watched.stamp = stamp;
    }
    return silent;
  }

  async #takeNames(folder: string, dirty: Set<string>, found: DirtyPaths): Promise<void> {
    const names = [...dirty];
    dirty.clear();
    for (const name of names) {
      const path = join(folder, name);
      const entry = lstatSync(path, { throwIfNoEntry: false });
      if (entry === undefined) continue;
      found.folders.add(folder);
      if (!entry.isDirectory()) found.files.add(path);
      else if (!this.#watched.has(path)) {
        // Watch before listing, so that nothing is missed in between.
        await this.#watchAll(path);
        found.add(await findChangedSince(path, 0));
      }
    }
  }

  /**
   * Leaves are not listed, because they may be long. A folder next to the manifests is a leaf, whatever a branch is
   * called.
   */
  async #watchTree(folder: string): Promise<void> {
    this.#watch(folder);
    const folders = await listFolders(folder);
    const hasLeaves = folders.includes('_versions');
    for (const name of folders) {
      const path = join(folder, name);
      // The folder of an existing index gets no more files.
      if (hasLeaves && (LEAVES.has(name) || name === '_indices')) this.#watch(path);
      else await this.#watchTree(path);
    }
  }

  async #watchAll(folder: string): Promise<void> {
    this.#watch(folder);
    for (const name of await listFolders(folder)) await this.#watchAll(join(folder, name));
  }

  #watch(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false });
      const watched: Watched = { watcher, names: new Set(), hasEvents: false, stamp: readStamp(folder) ?? '' };
      watcher.on('change', (_, name) => {
        watched.hasEvents = true;
        const isDirty = typeof name === 'string' && !isUnfinished(name) && !isExpendable(folder, name);
        if (isDirty) watched.names.add(name);
      });
      watcher.on('error', () => {
        this.#isBroken = true;
      });
      this.#watched.set(folder, watched);
    } catch (error) {
      if (!isMissing(error)) this.#isBroken = true;
    }
  }
}

async function listFolders(folder: string): Promise<readonly string[]> {
  const entries = await listFolder(folder);
  return entries.filter((entry) => entry.isDirectory() && !isExpendable(folder, entry.name)).map(({ name }) => name);
}

/** The event loop reads all queued events once per iteration; two iterations contain a complete read. */
async function eventsRead(): Promise<void> {
  await nextIteration();
  await nextIteration();
}

function readStamp(folder: string): string | undefined {
  const found = statSync(folder, { throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.ino}:${found.mtimeMs}:${found.ctimeMs}`;
}
