import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { CommitKind } from '../../model/commit.ts';
import { listIndexNames, listWrittenFiles } from '../format/fragments.ts';
import type { WrittenFile } from '../format/fragments.ts';
import { findTransactionSection, manifestName } from '../format/manifest.ts';
import { readMessage } from '../format/protobuf.ts';
import { findOperation, readTransaction } from '../format/transaction.ts';
import { isMissing } from '../sync/file-sync.ts';

export interface InspectedCommit {
  readonly kind: CommitKind;
  /** Rows of the fragments that the commit added. */
  readonly addedRows: number | undefined;
  /** All files that it added are there, and whole. */
  readonly isIntact: boolean;
  /** Indexes that it added. */
  readonly indexNames: readonly string[];
}

/**
 * Checks the files of a commit. The engine ignores an error of the last write of a file, and after a lost reply it may
 * delete files that the manifest names; the version is then there, and cannot be read. Synchronous: a trip through the
 * thread pool costs more than these few calls.
 */
export function inspectCommit(folder: string, version: number): InspectedCommit | undefined {
  const file = readManifestSync(join(folder, '_versions'), version);
  const section = file === undefined ? undefined : findTransactionSection(file);
  if (section === undefined) return undefined;
  const transaction = readMessage(section);
  const { kind, addedRows } = readTransaction(transaction);
  const operation = findOperation(transaction);
  const written = operation === undefined ? [] : listWrittenFiles(operation, kind);
  const indexNames = operation === undefined || kind !== 'index' ? [] : listIndexNames(operation);
  return { kind, addedRows, isIntact: written.every((each) => isWhole(folder, each)), indexNames };
}

function readManifestSync(folder: string, version: number): Buffer | undefined {
  for (const name of [manifestName(version), `${version}.manifest`]) {
    try {
      return readFileSync(join(folder, name));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return undefined;
}

function isWhole(folder: string, { path, bytes, ending = '' }: WrittenFile): boolean {
  let file: number | undefined;
  try {
    file = openSync(join(folder, path), 'r');
    const { size } = fstatSync(file);
    if (size === 0 || (bytes !== undefined && size !== bytes)) return false;
    const end = Buffer.alloc(ending.length);
    readSync(file, end, 0, end.length, Math.max(0, size - end.length));
    return end.toString('latin1') === ending;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
