import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Commit } from '../../model/commit.ts';
import { isMissing } from '../sync/file-sync.ts';
import { countRows } from '../format/fragments.ts';
import { TRANSACTION_SECTION_FIELD, readManifest, readSection, readManifestName } from '../format/manifest.ts';
import { readMessage } from '../format/protobuf.ts';
import type { Message } from '../format/protobuf.ts';
import { NO_TRANSACTION, readTransaction } from '../format/transaction.ts';

/** At most so many are read: more are not of one moment. */
const COMMITS_MAX = 1000;

/**
 * The commits of a table, or of a branch, after a version, oldest first. The engine stores the transaction of each in its
 * manifest, and the native API does not expose it.
 */
export async function readCommitsAfter(folder: string, version: number): Promise<readonly Commit[]> {
  const found: { readonly name: string; readonly version: number }[] = [];
  for (const name of await readdir(join(folder, '_versions'))) {
    const ofName = readManifestName(name);
    if (ofName !== undefined && ofName > version) found.push({ name, version: ofName });
  }
  found.sort((one, other) => one.version - other.version);
  const commits: Commit[] = [];
  for (const { name, version: ofName } of found.slice(0, COMMITS_MAX)) {
    commits.push({ version: ofName, ...(await readCommit(folder, name)) });
  }
  return commits;
}

/** Fields of `Manifest` in Lance's table.proto. */
const FRAGMENTS_FIELD = 2;
const TRANSACTION_FILE_FIELD = 12;

async function readCommit(folder: string, name: string): Promise<Omit<Commit, 'version'>> {
  const file = await readFile(join(folder, '_versions', name));
  const manifest = readManifest(file);
  const bytes = manifest.has(TRANSACTION_SECTION_FIELD)
    ? readSection(file, manifest.number(TRANSACTION_SECTION_FIELD))
    : await readTransactionFile(folder, manifest);
  const transaction = bytes === undefined ? NO_TRANSACTION : readTransaction(readMessage(bytes));
  return { ...transaction, rows: countRows(manifest.messages(FRAGMENTS_FIELD)) };
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
