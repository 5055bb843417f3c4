import { open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join, dirname } from 'node:path';
import { formatOfName } from '../../formats/format.ts';
import type { Input } from '../../formats/input.ts';
import { formatCount } from '../../plans/format-figure.ts';
import { UsageError } from '../command.ts';

export interface InputFile {
  readonly path: string;
  readonly size: number;
  readonly changedAt: number;
}

const FILES_MAX = 100_000;
const DEPTH_MAX = 16;

/** The named files, and the files with known extensions in named folders, sorted by name. */
export async function findFiles(paths: readonly string[]): Promise<readonly InputFile[]> {
  if (paths.includes('-')) throw new UsageError('Standard input cannot be imported: save it to a file first.');
  const found: InputFile[] = [];
  for (const path of paths) await addTo(found, path, 0);
  if (found.length > 0) return found;
  throw new UsageError(`No file with a known extension in ${paths.join(', ')}.`);
}

async function addTo(found: InputFile[], path: string, depth: number): Promise<void> {
  const entry = await stat(path);
  if (!entry.isDirectory()) {
    found.push({ path, size: entry.size, changedAt: entry.mtimeMs });
    if (found.length > FILES_MAX)
      throw new UsageError(`More than ${formatCount(FILES_MAX)} files: import them in several steps.`);
    return;
  }
  if (depth === DEPTH_MAX) throw new UsageError(`${path} is nested deeper than ${DEPTH_MAX} folders.`);
  const names = (await readdir(path, { withFileTypes: true }))
    .filter((each) => !/^[._]/.test(each.name) && (each.isDirectory() || formatOfName(each.name) !== undefined))
    .map(({ name }) => name)
    .toSorted();
  for (const name of names) await addTo(found, join(path, name), depth + 1);
}

/** The file stays open while `work` runs. */
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

/** Writes a file completely or not at all. */
export async function writeWhole(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const folder = dirname(path);
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory() !== true) throw new UsageError(`The folder ${folder} does not exist. Create it first.`);
  const draft = `${path}.${process.pid}.part`;
  try {
    await writeFile(draft, joinPieces(pieces), { flush: true });
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await rename(draft, path);
}

const JOINED_BYTES = 1024 * 1024;

/**
 * Makes few large writes. While a write waits for the disk, `fetch` puts back what it has not passed on, and copies all
 * of it again for each piece: with a write for every 14 KB, an export took 18 times as long.
 */
async function* joinPieces(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let joined: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    joined.push(piece);
    bytes += piece.length;
    if (bytes < JOINED_BYTES) continue;
    yield Buffer.concat(joined);
    [joined, bytes] = [[], 0];
  }
  yield Buffer.concat(joined);
}

/** Replaces a small file atomically: a crash leaves the old or the new one. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}
