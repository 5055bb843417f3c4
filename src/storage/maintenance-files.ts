import { readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';

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
