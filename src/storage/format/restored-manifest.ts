import { encodeNextManifest, encodeTransaction } from './next-manifest.ts';
import type { NextCommit } from './next-manifest.ts';
import { encodeBytes, encodeNumber } from './protobuf.ts';

/** Of `Transaction` in Lance's transaction.proto. */
const RESTORE_FIELD = 106;

export interface Restore extends NextCommit {
  /** The manifest of the version whose contents are committed again. */
  readonly restored: Buffer;
  readonly restoredVersion: number;
}

export function encodeRestoreTransaction(restore: Restore): Buffer {
  return encodeTransaction(restore, encodeBytes(RESTORE_FIELD, encodeNumber(1, restore.restoredVersion)));
}

/** The manifest that commits an earlier version again, right after the base version. */
export function encodeRestoredManifest(restore: Restore): Buffer {
  const transaction = encodeRestoreTransaction(restore);
  return encodeNextManifest({ ...restore, source: restore.restored, transaction });
}
