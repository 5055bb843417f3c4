import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Commit } from '../../model/table.ts';
import { countRows, listIndexNames, listWrittenFiles } from '../format/fragments.ts';
import type { WrittenFile } from '../format/fragments.ts';
import { findTransactionSection, readManifest } from '../format/manifest.ts';
import type { Message } from '../format/protobuf.ts';
import { readTransaction } from '../format/transaction.ts';
import type { InspectedCommit } from '../storage.ts';
import { isMissing } from '../sync/file-sync.ts';
import { inspectFile, readManifestFile, toManifests } from './manifest-file.ts';

/** More commits than that are not of one moment. */
const COMMITS_MAX = 1000;

/**
 * The commits of a table, or of a branch, after a version, oldest first. The engine stores the transaction of each in its
 * manifest, and the native API does not expose it.
 */
export async function readCommitsAfter(folder: string, version: number): Promise<readonly Commit[]> {
  const manifests = toManifests(await readdir(join(folder, '_versions')))
    .filter((manifest) => manifest.version > version)
    .toSorted((one, other) => one.version - other.version);
  const commits: Commit[] = [];
  for (const manifest of manifests.slice(0, COMMITS_MAX)) {
    commits.push({ version: manifest.version, ...(await readCommit(folder, manifest.name)) });
  }
  return commits;
}

/** Fields of `Manifest` in Lance's table.proto. */
const FRAGMENTS_FIELD = 2;
const TRANSACTION_FILE_FIELD = 12;

async function readCommit(folder: string, name: string): Promise<Omit<Commit, 'version'>> {
  const file = await readFile(join(folder, '_versions', name));
  const manifest = readManifest(file);
  const bytes = findTransactionSection(file, manifest) ?? (await readTransactionFile(folder, manifest));
  return { ...readTransaction(bytes).summary, rows: countRows(manifest.messages(FRAGMENTS_FIELD)) };
}

/** Of manifests of older engines. The file may be gone: the engine deletes it when a commit seems to have failed. */
async function readTransactionFile(folder: string, manifest: Message): Promise<Buffer | undefined> {
  if (!manifest.has(TRANSACTION_FILE_FIELD)) return undefined;
  try {
    return await readFile(join(folder, '_transactions', manifest.text(TRANSACTION_FILE_FIELD)));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/**
 * Checks the files of a commit. The engine ignores an error of the last write of a file, and after a lost reply it may
 * delete files that the manifest names; the version is then there, and cannot be read. Synchronous: a trip through the
 * thread pool costs more than these few calls.
 */
export function inspectCommit(folder: string, version: number): InspectedCommit | undefined {
  const file = readManifestFile(folder, version);
  const section = file === undefined ? undefined : findTransactionSection(file, readManifest(file));
  if (section === undefined) return undefined;
  const { summary, operation } = readTransaction(section);
  const { kind, addedRows } = summary;
  if (operation === undefined) return { kind, addedRows, isIntact: true, indexNames: [] };
  const isIntact = listWrittenFiles(operation, kind).every((written) => isWhole(folder, written));
  return { kind, addedRows, isIntact, indexNames: kind === 'index' ? listIndexNames(operation) : [] };
}

function isWhole(folder: string, { path, bytes, ending = '' }: WrittenFile): boolean {
  try {
    return inspectFile(join(folder, path), (size, readAt) => {
      if (size === 0 || (bytes !== undefined && size !== bytes)) return false;
      return readAt(Math.max(0, size - ending.length), ending.length).toString('latin1') === ending;
    });
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
