import { lstatSync, statSync, watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isMissing } from './file-sync.ts';
import type { DirtyPaths } from './file-sync.ts';
import { findChangedSince, isExpendable, isUnfinished, listFolder } from './folder-tree.ts';

/** Folders of a table, or of a branch, that have many files and no folders that would get more. */
const LEAVES = new Set(['data', '_versions', '_deletions']);

interface Watched {
  readonly watcher: FSWatcher;
  readonly names: Set<string>;
  /** Anything at all, also about names that do not count. */
  hasNews: boolean;
  stamp: string;
}

/**
 * Knows which files have come to a table since it was last asked. To list the folders costs 30 ms at ten thousand
 * versions; the kernel tells the names by itself, and has told them when the call that made the files returns.
 */
export class FolderWatch {
  readonly #watched = new Map<string, Watched>();
  #askedAt = Date.now();
  #isBroken = false;

  private constructor() {}

  /** `undefined` when there is no such folder, or where folders cannot be watched. */
  static async open(root: string): Promise<FolderWatch | undefined> {
    if (process.platform !== 'linux') return undefined;
    const opened = new FolderWatch();
    await opened.#watchTree(root);
    if (!opened.#isBroken && opened.size > 0) return opened;
    opened.close();
    return undefined;
  }

  /** All that was made before has been told. */
  get askedAt(): number {
    return this.#askedAt;
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  get size(): number {
    return this.#watched.size;
  }

  close(): void {
    for (const { watcher } of this.#watched.values()) watcher.close();
    this.#watched.clear();
  }

  /** What was made by calls that have returned; perhaps more. */
  async take(): Promise<DirtyPaths> {
    const since = this.#askedAt;
    this.#askedAt = Date.now();
    await delivered();
    const silent = this.#findSilent();
    if (silent.length > 0) await delivered();
    const files = new Set<string>();
    const folders = new Set<string>();
    for (const [folder, watched] of this.#watched) await this.#takeNews(folder, watched, { files, folders });
    for (const folder of silent) {
      if (this.#watched.get(folder)?.hasNews === false)
        addAll({ files, folders }, await findChangedSince(folder, since));
    }
    for (const watched of this.#watched.values()) watched.hasNews = false;
    return { files: [...files], folders: [...folders] };
  }

  /** Folders that have changed without a word: some file systems tell nothing. */
  #findSilent(): readonly string[] {
    const silent: string[] = [];
    for (const [folder, watched] of this.#watched) {
      const stamp = readStamp(folder);
      if (stamp === undefined) {
        watched.watcher.close();
        this.#watched.delete(folder);
        continue;
      }
      if (stamp !== watched.stamp && !watched.hasNews) silent.push(folder);
      watched.stamp = stamp;
    }
    return silent;
  }

  async #takeNews(folder: string, { names }: Watched, found: Found): Promise<void> {
    const news = [...names];
    names.clear();
    for (const name of news) {
      const path = join(folder, name);
      const kind = kindOf(path);
      if (kind !== 'absent') found.folders.add(folder);
      if (kind === 'file') found.files.add(path);
      // Watched before it is listed, so that nothing comes in between.
      if (kind === 'folder' && !this.#watched.has(path)) {
        await this.#watchAll(path);
        addAll(found, await findChangedSince(path, 0));
      }
    }
  }

  /** Leaves are not listed: they may be long. What stands beside manifests is a leaf, whatever a branch is called. */
  async #watchTree(folder: string): Promise<void> {
    this.#watch(folder);
    const folders = await listFolders(folder);
    const hasLeaves = folders.includes('_versions');
    for (const name of folders) {
      const path = join(folder, name);
      // The folder of an index that is there gets no more files.
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
      const names = new Set<string>();
      const watcher = watch(folder, { persistent: false });
      const watched: Watched = { watcher, names, hasNews: false, stamp: readStamp(folder) ?? '' };
      watcher.on('change', (_, name) => {
        watched.hasNews = true;
        if (typeof name === 'string' && !isUnfinished(name) && !isExpendable(folder, name)) names.add(name);
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

interface Found {
  readonly files: Set<string>;
  readonly folders: Set<string>;
}

function addAll(found: Found, { files, folders }: DirtyPaths): void {
  for (const file of files) found.files.add(file);
  for (const folder of folders) found.folders.add(folder);
}

/**
 * The kernel queues a notice before the call that caused it returns, and the event loop reads all that are queued each
 * time that it looks for events: it has done so once between the second turn and the first.
 */
async function delivered(): Promise<void> {
  await nextTurn();
  await nextTurn();
}

function readStamp(folder: string): string | undefined {
  const found = statSync(folder, { throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.ino}:${found.mtimeMs}:${found.ctimeMs}`;
}

function kindOf(path: string): 'file' | 'folder' | 'absent' {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return 'absent';
  return found.isDirectory() ? 'folder' : 'file';
}
