import type { Commit } from '../../model/table.ts';
import type { InspectedCommit, VersionSize } from '../storage.ts';
import { countDataBytes, countRows, listFragmentIds, listIndexNames, listWrittenFiles } from './fragments.ts';
import type { WrittenFile } from './fragments.ts';
import { findTransactionSection, readManifest } from './manifest.ts';
import type { Message } from './protobuf.ts';
import { readTransaction } from './transaction.ts';

/** Fields of `Manifest` in Lance's table.proto. */
const FRAGMENTS_FIELD = 2;
const TIMESTAMP_FIELD = 7;
const LAST_FRAGMENT_FIELD = 11;
const TRANSACTION_FILE_FIELD = 12;

/** Fields of `google.protobuf.Timestamp`. */
const TIMESTAMP = { seconds: 1, nanoseconds: 2 } as const;

/**
 * The commit that a manifest describes. The engine stores the transaction in the manifest, but the native API does not
 * expose it. Older engines store it in a file below `_transactions`, which `readFile` reads. It may be missing, because
 * the engine deletes it when a commit seems to have failed.
 */
export async function readCommit(
  file: Buffer,
  readFile: (path: string) => Promise<Buffer | undefined>,
): Promise<Omit<Commit, 'version'>> {
  const manifest = readManifest(file);
  const inFile = async (): Promise<Buffer | undefined> => {
    const path = findTransactionPath(file);
    return path === undefined ? undefined : readFile(path);
  };
  const bytes = findTransactionSection(file) ?? (await inFile());
  return { ...readTransaction(bytes).summary, rows: countRows(manifest.messages(FRAGMENTS_FIELD)) };
}

/** The file with the commit's transaction, which may be missing. */
export function findTransactionPath(file: Buffer): string | undefined {
  const manifest = readManifest(file);
  return manifest.has(TRANSACTION_FILE_FIELD) ? `_transactions/${manifest.text(TRANSACTION_FILE_FIELD)}` : undefined;
}

/** All fragments of a version. */
export function readFragments(file: Buffer): readonly Message[] {
  return readManifest(file).messages(FRAGMENTS_FIELD);
}

/** The highest fragment number up to this version; -1 if there was none. */
export function readLastFragment(file: Buffer): number {
  const manifest = readManifest(file);
  const ids = listFragmentIds(manifest.messages(FRAGMENTS_FIELD));
  const last = manifest.has(LAST_FRAGMENT_FIELD) ? manifest.number(LAST_FRAGMENT_FIELD) : -1;
  return ids.reduce((highest, id) => Math.max(highest, id), last);
}

/** `undefined` for manifests of older engines. */
export function readVersionSize(file: Buffer): VersionSize | undefined {
  const fragments = readFragments(file);
  const rows = countRows(fragments);
  const bytes = countDataBytes(fragments);
  return rows === undefined || bytes === undefined ? undefined : { rows, bytes };
}

/** In microseconds since 1970; 0 for an invalid time. */
export function readCommittedAt(file: Buffer): number {
  const [timestamp] = readManifest(file).messages(TIMESTAMP_FIELD);
  if (timestamp === undefined) return 0;
  const [seconds, nanoseconds] = [timestamp.number(TIMESTAMP.seconds), timestamp.number(TIMESTAMP.nanoseconds)];
  const microseconds = seconds * 1e6 + Math.floor(nanoseconds / 1000);
  return Number.isSafeInteger(microseconds) ? microseconds : 0;
}

/** A commit, and the files that it added. */
export interface WrittenCommit extends Omit<InspectedCommit, 'isIntact'> {
  readonly files: readonly WrittenFile[];
}

/** `undefined` if the manifest does not contain its transaction, as with older engines. */
export function readWrittenCommit(file: Buffer): WrittenCommit | undefined {
  const section = findTransactionSection(file);
  if (section === undefined) return undefined;
  const { summary, operation } = readTransaction(section);
  const { kind, addedRows } = summary;
  if (operation === undefined) return { kind, addedRows, files: [], indexNames: [] };
  const files = listWrittenFiles(operation, kind);
  return { kind, addedRows, files, indexNames: kind === 'index' ? listIndexNames(operation) : [] };
}
