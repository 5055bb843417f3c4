import { readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { placeLocation } from '../model/table.ts';
import type { Place } from '../model/table.ts';
import { isRemote } from './connections.ts';

/** The sum of all files of a table; unknown on an object store. */
export async function measureFolder(place: Place): Promise<number | undefined> {
  if (isRemote(place.root)) return undefined;
  let bytes = 0;
  for await (const path of walk(placeLocation(place))) bytes += (await look(path))?.size ?? 0;
  return bytes;
}

/** How files are called while they are written, before they get their name: by the engine, and by the storage layer. */
const UNFINISHED_NAME = /^\.tmp|#\d+$/;

/** The engine removes what no version names, but for files that never got their name. */
export async function sweepAbandoned(place: Place, olderThanMilliseconds: number): Promise<number> {
  if (isRemote(place.root)) return 0;
  const before = Date.now() - olderThanMilliseconds;
  let swept = 0;
  for await (const path of walk(placeLocation(place), UNFINISHED_NAME)) {
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
