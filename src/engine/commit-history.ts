import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from './file-sync.ts';
import { readManifestName } from './manifest-name.ts';
import { readMessage } from './protobuf.ts';

/** What a commit did, as far as it matters whose it is. */
export type CommitKind = 'append' | 'delete' | 'overwrite' | 'update' | 'restore' | 'upkeep' | 'other';

export interface Commit {
  readonly version: number;
  readonly kind: CommitKind;
  /** The version that it read. */
  readonly readVersion: number;
  /** Of a restore: the version whose contents it brought back. */
  readonly restoredVersion: number | undefined;
}

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
  const manifest = readMessage(messageOf(await readFile(join(folder, '_versions', name))));
  const file = manifest.get(TRANSACTION_FILE_FIELD);
  if (!(file instanceof Uint8Array)) return nothing;
  const bytes = await readIfThere(join(folder, '_transactions', Buffer.from(file).toString('utf8')));
  if (bytes === undefined) return nothing;
  const transaction = readMessage(bytes);
  for (const [field, value] of transaction) {
    if (field < OPERATION_FIELDS_FROM || !(value instanceof Uint8Array)) continue;
    const kind = KINDS[field] ?? 'other';
    const restoredVersion = kind === 'restore' ? toNumber(readMessage(value).get(RESTORED_VERSION_FIELD)) : undefined;
    return { version, kind, readVersion: toNumber(transaction.get(READ_VERSION_FIELD)), restoredVersion };
  }
  return nothing;
}

const FOOTER_BYTES = 16;
const LENGTH_BYTES = 4;

/** A manifest ends with where its message begins. */
function messageOf(file: Buffer): Buffer {
  const start = Number(file.readBigUInt64LE(file.length - FOOTER_BYTES));
  const length = file.readUInt32LE(start);
  return file.subarray(start + LENGTH_BYTES, start + LENGTH_BYTES + length);
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function toNumber(value: bigint | Uint8Array | undefined): number {
  return typeof value === 'bigint' ? Number(value) : 0;
}
