import { findMessage, readManifest } from './manifest.ts';
import { encodeBytes, encodeNumber, splitFields } from './protobuf.ts';

/** Of `Manifest` in Lance's table.proto. */
const VERSION_FIELD = 3;
const TIMESTAMP_FIELD = 7;
const MAX_FRAGMENT_ID_FIELD = 11;
const TRANSACTION_FILE_FIELD = 12;
const NEXT_ROW_ID_FIELD = 14;
const TRANSACTION_SECTION_FIELD = 21;
const REPLACED: ReadonlySet<number> = new Set([
  VERSION_FIELD,
  TIMESTAMP_FIELD,
  MAX_FRAGMENT_ID_FIELD,
  TRANSACTION_FILE_FIELD,
  NEXT_ROW_ID_FIELD,
  TRANSACTION_SECTION_FIELD,
]);

const LENGTH_BYTES = 4;
const FORMAT_BYTES = 8;

export interface Restore {
  /** The manifest of the version whose contents are committed again. */
  readonly restored: Buffer;
  readonly restoredVersion: number;
  /** The manifest of the version that the restore follows. */
  readonly base: Buffer;
  readonly baseVersion: number;
  /** Of the transaction. */
  readonly uuid: string;
  readonly nowMilliseconds: number;
}

/** The transaction of a restore, as Lance's transaction.proto describes it. */
export function encodeRestoreTransaction({ baseVersion, uuid, restoredVersion }: Restore): Buffer {
  return Buffer.concat([
    encodeNumber(1, baseVersion),
    encodeBytes(2, Buffer.from(uuid)),
    encodeBytes(106, encodeNumber(1, restoredVersion)),
  ]);
}

export function transactionFileName({ baseVersion, uuid }: Restore): string {
  return `${baseVersion}-${uuid}.txn`;
}

/**
 * The manifest that commits an earlier version again, right after the base version. Ids of fragments and rows go on from
 * the base, because they must not be used twice.
 */
export function encodeRestoredManifest(restore: Restore): Buffer {
  const { restored, base, baseVersion, nowMilliseconds } = restore;
  const start = findMessage(restored.length, (at, length) => restored.subarray(at, at + length));
  if (start === undefined) throw new Error('The manifest is torn.');
  const length = restored.readUInt32LE(start);
  const message = restored.subarray(start + LENGTH_BYTES, start + LENGTH_BYTES + length);
  const [old, latest] = [readManifest(restored), readManifest(base)];
  const largest = (field: number): Buffer => {
    const isKnown = old.has(field) || latest.has(field);
    return isKnown ? encodeNumber(field, Math.max(old.number(field), latest.number(field))) : Buffer.alloc(0);
  };
  const transaction = withLength(encodeRestoreTransaction(restore));
  const manifest = Buffer.concat([
    ...splitFields(message).flatMap(({ field, bytes }) => (REPLACED.has(field) ? [] : [bytes])),
    encodeNumber(VERSION_FIELD, baseVersion + 1),
    encodeBytes(TIMESTAMP_FIELD, encodeTimestamp(nowMilliseconds)),
    largest(MAX_FRAGMENT_ID_FIELD),
    encodeBytes(TRANSACTION_FILE_FIELD, Buffer.from(transactionFileName(restore))),
    largest(NEXT_ROW_ID_FIELD),
    encodeNumber(TRANSACTION_SECTION_FIELD, start),
  ]);
  const footer = Buffer.alloc(8);
  footer.writeBigUInt64LE(BigInt(start + transaction.length));
  // The sections before the message keep their places; the manifest refers to them by offset.
  const sections = restored.subarray(0, start);
  const format = restored.subarray(restored.length - FORMAT_BYTES);
  return Buffer.concat([sections, transaction, withLength(manifest), footer, format]);
}

function withLength(section: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(section.length);
  return Buffer.concat([length, section]);
}

/** https://protobuf.dev/reference/protobuf/google.protobuf/#timestamp */
function encodeTimestamp(milliseconds: number): Buffer {
  const seconds = Math.floor(milliseconds / 1000);
  return Buffer.concat([encodeNumber(1, seconds), encodeNumber(2, (milliseconds - seconds * 1000) * 1_000_000)]);
}
