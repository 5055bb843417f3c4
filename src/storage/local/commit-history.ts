import { statSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Commit } from '../../model/table.ts';
import { readCommit, readLastFragment, readVersionSize, readWrittenCommit } from '../format/commit.ts';
import type { WrittenFile } from '../format/fragments.ts';
import { VERSIONS, toManifestsAfter } from '../format/layout.ts';
import { readRowLayout } from '../format/row-layout.ts';
import type { RowLayout } from '../format/row-layout.ts';
import type { InspectedCommit, VersionSize } from '../storage.ts';
import { isMissing } from '../sync/file-sync.ts';
import { inspectFile, readManifestFile } from './manifest-file.ts';

/** The commits of a table or branch after a version, oldest first. */
export async function readCommitsAfter(folder: string, version: number): Promise<readonly Commit[]> {
  const names = await readdir(join(folder, VERSIONS));
  const commits: Commit[] = [];
  for (const manifest of toManifestsAfter(names, version)) {
    const file = await readFile(join(folder, VERSIONS, manifest.name));
    const commit = await readCommit(file, async (path) => readFileIfAny(join(folder, path)));
    commits.push({ version: manifest.version, ...commit });
  }
  return commits;
}

async function readFileIfAny(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/**
 * Checks the files of a commit. The engine ignores an error of the last write to a file, and after a lost reply it may
 * delete files that the manifest names; the version then exists but cannot be read. Synchronous, because the thread
 * pool costs more than these few calls.
 */
export function inspectCommit(folder: string, version: number): InspectedCommit | undefined {
  const file = readManifestFile(folder, version);
  const commit = file === undefined ? undefined : readWrittenCommit(file);
  if (commit === undefined) return undefined;
  const { files, ...inspected } = commit;
  return { ...inspected, isIntact: files.every((written) => isWhole(folder, written)) };
}

export function measureVersion(folder: string, version: number): VersionSize | undefined {
  const file = readManifestFile(folder, version);
  return file === undefined ? undefined : readVersionSize(file);
}

export function findLastFragment(folder: string, version: number): number | undefined {
  const file = readManifestFile(folder, version);
  return file === undefined ? undefined : readLastFragment(file);
}

export function findRowLayout(folder: string, version: number): RowLayout | undefined {
  const file = readManifestFile(folder, version);
  return file === undefined ? undefined : readRowLayout(file);
}

export function isWhole(folder: string, { path, bytes, ending }: WrittenFile): boolean {
  const isSized = (size: number): boolean => size > 0 && (bytes === undefined || size === bytes);
  try {
    if (ending === undefined) return isSized(statSync(join(folder, path)).size);
    return inspectFile(join(folder, path), (size, readAt) => {
      if (!isSized(size)) return false;
      return readAt(Math.max(0, size - ending.length), ending.length).toString('latin1') === ending;
    });
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
