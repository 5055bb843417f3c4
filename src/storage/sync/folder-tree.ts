import type { Dirent } from 'node:fs';
import { lstat, readdir, stat, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isMissing } from './file-sync.ts';
import type { DirtyPaths } from './file-sync.ts';

/** Stamps come from a clock that ticks coarsely, and may lag behind the one that is asked here. */
const MARGIN_MILLISECONDS = 2000;

/** Files that are being written have a name of their own until they are whole. */
export function isUnfinished(name: string): boolean {
  return name.startsWith('.tmp') || name.includes('#');
}

/**
 * Not synced, because the engine does without them: it takes a transaction from the manifest, which holds it too, and
 * looks for the newest version itself when the hint is missing or wrong.
 */
export function isExpendable(folder: string, name: string): boolean {
  if (name === '_transactions') return true;
  return name === 'latest_version_hint.json' && basename(folder) === '_versions';
}

/** All that was made or changed in a folder, and below it, since a time; 0 is for everything. */
export async function findChangedSince(folder: string, sinceMilliseconds: number): Promise<DirtyPaths> {
  const files: string[] = [];
  const folders: string[] = [];
  const since = sinceMilliseconds - MARGIN_MILLISECONDS;
  const walk = async (path: string): Promise<void> => {
    if (await isChanged(path, since)) folders.push(path);
    for (const entry of await listFolder(path)) {
      if (isExpendable(path, entry.name)) continue;
      const inside = join(path, entry.name);
      if (entry.isDirectory()) await walk(inside);
      else if (entry.isFile() && !isUnfinished(entry.name) && (await isChanged(inside, since))) files.push(inside);
    }
  };
  await walk(folder);
  return { files, folders };
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

export async function measureFolder(folder: string): Promise<number> {
  let bytes = 0;
  for await (const path of walk(folder)) bytes += (await look(path))?.size ?? 0;
  return bytes;
}

/** How files are called while they are written, before they get their name: by the engine, and by the storage layer. */
const UNFINISHED_NAME = /^\.tmp|#\d+$/;

/** The engine removes what no version names, but for files that never got their name. */
export async function sweepUnfinished(folder: string, olderThanMilliseconds: number): Promise<number> {
  const before = Date.now() - olderThanMilliseconds;
  let swept = 0;
  for await (const path of walk(folder, UNFINISHED_NAME)) {
    const found = await look(path);
    if (found === undefined || found.mtimeMs >= before) continue;
    await unlink(path).catch(() => {});
    swept += 1;
  }
  return swept;
}

async function* walk(folder: string, name = /(?:)/): AsyncGenerator<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* walk(path, name);
    else if (entry.isFile() && name.test(entry.name)) yield path;
  }
}

/** `undefined` for a file that has gone meanwhile. */
async function look(path: string): Promise<{ readonly size: number; readonly mtimeMs: number } | undefined> {
  return stat(path).catch(() => undefined);
}
