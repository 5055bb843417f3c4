import { closeSync, fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isMissing } from '../sync/file-sync.ts';
import { listWrittenFiles } from '../format/fragments.ts';
import type { FragmentFiles } from '../format/fragments.ts';
import { findTransactionSection, manifestName } from '../format/manifest.ts';
import { readMessage } from '../format/protobuf.ts';
import { findOperation, readTransaction } from '../format/transaction.ts';

export interface InspectedCommit {
  /** Rows of the fragments that the commit added. */
  readonly addedRows: number | undefined;
  /** All files that it added are there, and whole. */
  readonly isIntact: boolean;
}

/**
 * Looks at the files of a commit. The engine ignores an error of the last write of a file, and after a lost reply it may
 * delete files that the manifest names; the version is then there, and cannot be read. Synchronous: a trip through the
 * thread pool costs more than these few calls.
 */
export function inspectCommit(folder: string, version: number): InspectedCommit | undefined {
  const file = readManifestSync(join(folder, '_versions'), version);
  if (file === undefined) return undefined;
  const section = findTransactionSection(file);
  if (section === undefined) return undefined;
  const transaction = readMessage(section);
  const { kind, addedRows } = readTransaction(transaction);
  const operation = findOperation(transaction);
  const written = operation === undefined ? [] : listWrittenFiles(operation, kind);
  return { addedRows, isIntact: written.every((files) => areWhole(folder, files)) };
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

function areWhole(folder: string, { dataFiles, deletionFile }: FragmentFiles): boolean {
  return (
    dataFiles.every(({ path, bytes }) => sizeOf(join(folder, 'data', path)) === bytes) &&
    (deletionFile === undefined || isWholeDeletion(join(folder, '_deletions', deletionFile)))
  );
}

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

const ARROW_MAGIC = 'ARROW1';

/** Its size is not recorded. An Arrow file ends with its magic; a bitmap has none. */
function isWholeDeletion(path: string): boolean {
  const size = sizeOf(path);
  if (size === undefined || size === 0) return false;
  return !path.endsWith('.arrow') || readEnd(path, ARROW_MAGIC.length) === ARROW_MAGIC;
}

function readEnd(path: string, length: number): string {
  const file = openSync(path, 'r');
  try {
    const end = Buffer.alloc(length);
    readSync(file, end, 0, length, Math.max(0, fstatSync(file).size - length));
    return end.toString('latin1');
  } finally {
    closeSync(file);
  }
}
