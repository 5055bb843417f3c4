import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Commit, CommitKind } from '../model/commit.ts';
import { isMissing } from './file-sync.ts';
import { readManifest } from './manifest.ts';
import { readManifestName } from './manifest-name.ts';
import { readMessage } from './protobuf.ts';

/** So many at most are looked at: more are not of one moment. */
const COMMITS_MAX = 1000;

/**
 * The commits of a table, or of a branch, after a version, from the oldest on. The engine writes of each what it did,
 * which is more than its native layer tells.
 */
export async function readCommitsAfter(folder: string, version: number): Promise<readonly Commit[]> {
  const found: { readonly name: string; readonly version: number }[] = [];
  for (const name of await readdir(join(folder, '_versions'))) {
    const ofName = readManifestName(name);
    if (ofName !== undefined && ofName > version) found.push({ name, version: ofName });
  }
  found.sort((one, other) => one.version - other.version);
  const commits: Commit[] = [];
  for (const each of found.slice(0, COMMITS_MAX)) commits.push(await readCommit(folder, each));
  return commits;
}

const TRANSACTION_FILE_FIELD = 12;
const READ_VERSION_FIELD = 1;
const OPERATION_FIELDS_FROM = 100;
const RESTORED_VERSION_FIELD = 1;

/** The numbers of the engine's format, which do not change: https://lance.org/format/table/transaction */
const KINDS: Readonly<Record<number, CommitKind>> = {
  100: 'append',
  101: 'delete',
  102: 'overwrite',
  103: 'upkeep', // An index was made or brought up to date.
  104: 'upkeep', // Fragments were merged.
  106: 'restore',
  107: 'upkeep', // Numbers for merged fragments were taken.
  108: 'update',
};

async function readCommit(folder: string, { name, version }: { name: string; version: number }): Promise<Commit> {
  const nothing = { version, kind: 'other' as const, readVersion: 0, restoredVersion: undefined };
  const manifest = readManifest(await readFile(join(folder, '_versions', name)));
  if (!manifest.has(TRANSACTION_FILE_FIELD)) return nothing;
  const bytes = await readIfThere(join(folder, '_transactions', manifest.text(TRANSACTION_FILE_FIELD)));
  if (bytes === undefined) return nothing;
  const transaction = readMessage(bytes);
  const operation = transaction.fields.find((field) => field >= OPERATION_FIELDS_FROM);
  if (operation === undefined) return nothing;
  const kind = KINDS[operation] ?? 'other';
  const [restore] = kind === 'restore' ? transaction.messages(operation) : [];
  return {
    version,
    kind,
    readVersion: transaction.number(READ_VERSION_FIELD),
    restoredVersion: restore?.number(RESTORED_VERSION_FIELD),
  };
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
