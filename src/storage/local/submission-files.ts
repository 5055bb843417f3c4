import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { link, lstat, mkdir, open, realpath, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { WrittenFile } from '../format/fragments.ts';
import type { SubmissionFiles } from '../submitted/submitted-manifest.ts';
import { isMissing } from '../sync/file-sync.ts';
import type { TableSync } from '../sync/table-sync.ts';
import { isWhole } from './commit-history.ts';

/** Files of a table in a local folder. Other programs may write there, so links are not followed. */
export function createLocalFiles(folder: string, sync: TableSync): SubmissionFiles {
  return {
    async read(name, bytesMax = Infinity) {
      const path = join(folder, name);
      return (await isPlainFolder(folder, dirname(path))) ? readPlainFile(path, bytesMax) : undefined;
    },
    areWhole: async (files) => areWhole(folder, files),
    sync: async (names) =>
      sync.syncFiles(
        folder,
        names.map((name) => join(folder, name)),
      ),
    putIfAbsent: async (name, content) => putIfAbsent(join(folder, name), content),
    findETag: async (name) => readETag(join(folder, name)),
    remove: async (name) => unlink(join(folder, name)),
  };
}

/** Whether no part of the path below the table's folder is a link. */
async function isPlainFolder(folder: string, path: string): Promise<boolean> {
  try {
    return (await realpath(path)) === join(await realpath(folder), path.slice(folder.length));
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function readPlainFile(path: string, bytesMax: number): Promise<Buffer | undefined> {
  const file = await openPlain(path);
  if (file === undefined) return undefined;
  try {
    const found = await file.stat();
    if (!found.isFile()) return undefined;
    const content = Buffer.alloc(Math.min(found.size, bytesMax + 1));
    let at = 0;
    for (let read = -1; read !== 0 && at < content.length; at += read) {
      ({ bytesRead: read } = await file.read(content, at, content.length - at));
    }
    return content.subarray(0, at);
  } finally {
    await file.close();
  }
}

/** Non-blocking, because it may be a pipe. */
async function openPlain(path: string) {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isMissing(error) || isLink(error)) return undefined;
    throw error;
  }
}

function isLink(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ELOOP';
}

async function areWhole(folder: string, files: readonly WrittenFile[]): Promise<boolean> {
  const folders = new Set(files.map(({ path }) => dirname(join(folder, path))));
  for (const each of folders) if (!(await isPlainFolder(folder, each))) return false;
  for (const file of files) {
    const found = await lstat(join(folder, file.path)).catch(() => undefined);
    if (found?.isFile() !== true || !isWhole(folder, file)) return false;
  }
  return true;
}

/** A link fails if the name is taken, and appears at once with its full content. */
async function putIfAbsent(path: string, content: Buffer): Promise<boolean> {
  const temporary = join(dirname(path), `.tmp-${randomUUID()}`);
  // Only the last folder: a table that was moved away must not come back.
  await mkdir(dirname(path)).catch(() => {});
  try {
    await writeFile(temporary, content, { flag: 'wx' });
    await link(temporary, path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    await unlink(temporary).catch(() => {});
  }
}

/** In the format of the local storage of Lance libraries. */
async function readETag(path: string): Promise<string> {
  const { ino, mtimeNs, size } = await stat(path, { bigint: true });
  return `"${[ino, mtimeNs / 1000n, size].map((part) => part.toString(16)).join('-')}"`;
}
