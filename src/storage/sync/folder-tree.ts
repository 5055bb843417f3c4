import { statSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { lstat, readdir, stat, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DirtyPaths, isMissing } from './file-sync.ts';

/** Timestamps have a coarse resolution, and may lag behind `Date.now()`. */
const MARGIN_MILLISECONDS = 2000;

/** Whether a file is still being written: it then has a temporary name of the engine or its storage layer. */
export function isUnfinished(name: string): boolean {
  return /^\.tmp|#\d+$/.test(name);
}

/**
 * Not synced, because the engine does not need them: manifests contain the transaction too, and the engine finds the
 * newest version itself if the hint is missing or wrong.
 */
export function isExpendable(folder: string, name: string): boolean {
  if (name === '_transactions') return true;
  return name === 'latest_version_hint.json' && basename(folder) === '_versions';
}

/** Everything in and below a folder that was created or changed since a time; 0 = everything. */
export async function findChangedSince(folder: string, sinceMilliseconds: number): Promise<DirtyPaths> {
  const dirty = new DirtyPaths();
  const since = sinceMilliseconds - MARGIN_MILLISECONDS;
  const visit = async (path: string): Promise<void> => {
    if (await isChanged(path, since)) dirty.folders.add(path);
    for (const entry of await listFolder(path)) {
      if (isExpendable(path, entry.name)) continue;
      const inside = join(path, entry.name);
      if (entry.isDirectory()) await visit(inside);
      else if (entry.isFile() && !isUnfinished(entry.name) && (await isChanged(inside, since))) dirty.files.add(inside);
    }
  };
  await visit(folder);
  return dirty;
}

export async function listFolder(path: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

async function isChanged(path: string, since: number): Promise<boolean> {
  if (since <= 0) return true;
  try {
    return (await lstat(path)).ctimeMs >= since;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** How long a measurement may block other work of the process at a time. */
const TURN_MILLISECONDS = 1;

/** In bytes. Synchronous, in short turns: the thread pool costs ten times as much as checking a file. */
export async function measureFolder(folder: string): Promise<number> {
  let bytes = 0;
  let turnEndsAt = performance.now() + TURN_MILLISECONDS;
  for await (const paths of walk(folder)) {
    for (const path of paths) {
      if (performance.now() > turnEndsAt) {
        await nextTurn();
        turnEndsAt = performance.now() + TURN_MILLISECONDS;
      }
      bytes += measureFile(path);
    }
  }
  return bytes;
}

function measureFile(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    return 0;
  }
}

/** The engine removes unreferenced files, but not those with a temporary name. */
export async function sweepUnfinished(folder: string, olderThanMilliseconds: number): Promise<number> {
  const before = Date.now() - olderThanMilliseconds;
  let swept = 0;
  for await (const paths of walk(folder)) {
    for (const path of paths.filter((each) => isUnfinished(basename(each)))) {
      const found = await stat(path).catch(() => undefined);
      if (found === undefined || found.mtimeMs >= before) continue;
      await unlink(path).catch(() => {});
      swept += 1;
    }
  }
  return swept;
}

/** All files below a folder, one folder at a time; skips what cannot be listed. */
async function* walk(folder: string): AsyncGenerator<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  yield entries.filter((entry) => entry.isFile()).map(({ name }) => join(folder, name));
  for (const entry of entries) if (entry.isDirectory()) yield* walk(join(folder, entry.name));
}
