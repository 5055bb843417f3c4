import { constants } from 'node:fs';
import { copyFile, link, mkdir, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CloneFile, CloneFolder } from '../clone/clone-folder.ts';
import { PART_BYTES, passParts } from '../clone/parts.ts';
import { isMissing } from '../sync/file-sync.ts';
import { isUnfinished, listFolder } from '../sync/folder-tree.ts';

/** A table in a local folder. */
export function createLocalCloneFolder(folder: string): CloneFolder {
  return {
    // Not recursive: a missing storage root must not be created again.
    prepare: async () => mkdir(folder),
    async read(path) {
      try {
        return await readFile(join(folder, path));
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },
    list: (path) => listFiles(folder, path),
    async add(path, file) {
      const target = join(folder, path);
      await mkdir(dirname(target), { recursive: true });
      if (file.at.kind === 'local') await linkFile(file.at.file, target);
      else await download(file, target);
    },
    async put(path, content) {
      const target = join(folder, path);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, content, { flag: 'wx' });
    },
    remove: async () => rm(folder, { recursive: true, force: true }),
  };
}

/** Skips links, which may lead out of the table, unfinished files, and files that a cleanup deletes meanwhile. */
async function* listFiles(folder: string, path: string): AsyncGenerator<CloneFile> {
  for (const entry of await listFolder(join(folder, path))) {
    const inside = `${path}/${entry.name}`;
    const file = join(folder, inside);
    if (entry.isDirectory()) yield* listFiles(folder, inside);
    if (!entry.isFile() || isUnfinished(entry.name)) continue;
    const bytes = await findSize(file);
    if (bytes === undefined) continue;
    yield { path: inside, bytes, at: { kind: 'local', file }, readPart: async (...range) => readPart(file, ...range) };
  }
}

async function findSize(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function readPart(path: string, start: number, length: number): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const content = Buffer.alloc(length);
    let at = 0;
    for (let read = -1; read !== 0 && at < length; at += read) {
      ({ bytesRead: read } = await file.read(content, at, length - at, start + at));
    }
    return content.subarray(0, at);
  } finally {
    await file.close();
  }
}

/**
 * Files of a table never change once written, so the two tables share them. If databases are on different disks, or the
 * file system has no hard links, they are copied.
 */
async function linkFile(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  }
}

async function download(source: CloneFile, target: string): Promise<void> {
  const file = await open(target, 'wx');
  try {
    await passParts(source, PART_BYTES, async (content, start) => {
      for (let at = 0; at < content.length;) {
        at += (await file.write(content, at, content.length - at, start + at)).bytesWritten;
      }
    });
  } finally {
    await file.close();
  }
}
