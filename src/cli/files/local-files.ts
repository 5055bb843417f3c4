import { open, readdir, stat, rename, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join, dirname } from 'node:path';
import { formatOfName } from '../../formats/format.ts';
import type { Input } from '../../formats/input.ts';
import { CommandFault } from '../command.ts';

export interface InputFile {
  readonly path: string;
  readonly size: number;
  readonly changedAt: number;
}

const FILES_MAX = 100_000;
const DEPTH_MAX = 16;

/** The files that were named, and of folders those whose extension is known, in the order of their names. */
export async function findFiles(paths: readonly string[]): Promise<readonly InputFile[]> {
  const found: InputFile[] = [];
  for (const path of paths) await addTo(found, path, 0);
  if (found.length > 0) return found;
  throw new CommandFault([`There is no file of a known format in ${paths.join(', ')}.`]);
}

async function addTo(found: InputFile[], path: string, depth: number): Promise<void> {
  const entry = await stat(path);
  if (!entry.isDirectory()) {
    found.push({ path, size: entry.size, changedAt: entry.mtimeMs });
    if (found.length > FILES_MAX) throw new CommandFault([`These are more than ${FILES_MAX} files.`]);
    return;
  }
  if (depth === DEPTH_MAX) throw new CommandFault([`${path} lies deeper than ${DEPTH_MAX} folders.`]);
  const names = (await readdir(path, { withFileTypes: true }))
    .filter((each) => !/^[._]/.test(each.name) && (each.isDirectory() || formatOfName(each.name) !== undefined))
    .map(({ name }) => name)
    .toSorted();
  for (const name of names) await addTo(found, join(path, name), depth + 1);
}

/** Reads a file on disk for as long as `work` takes. */
export async function withInput<Value>(file: InputFile, work: (input: Input) => Promise<Value>): Promise<Value> {
  const handle = await open(file.path);
  try {
    return await work({ size: file.size, slice: async (start, end) => readAt(handle, start, end) });
  } finally {
    await handle.close();
  }
}

async function readAt(handle: FileHandle, start: number, end: number): Promise<ArrayBuffer> {
  const bytes = new Uint8Array(Math.max(0, end - start));
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, start + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.buffer.slice(0, filled);
}

/** Writes a file that is there whole or not at all. */
export async function writeWhole(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const draft = `${path}.${process.pid}.part`;
  await requireFolder(dirname(path));
  const handle = await open(draft, 'w');
  try {
    for await (const piece of pieces) await handle.write(piece);
    await handle.sync();
  } catch (error) {
    await handle.close();
    await rm(draft, { force: true });
    throw error;
  }
  await handle.close();
  await rename(draft, path);
}

async function requireFolder(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() !== true) throw new CommandFault([`There is no folder ${path}: make it first.`]);
}
