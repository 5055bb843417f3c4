import { findMessage, readManifest, readSection } from './manifest.ts';
import { encodeBytes, encodeNumber, splitFields } from './protobuf.ts';
import type { Message } from './protobuf.ts';

/** Of `Manifest` in Lance's table.proto. */
const VERSION_FIELD = 3;
const TIMESTAMP_FIELD = 7;
const MAX_FRAGMENT_ID_FIELD = 11;
const TRANSACTION_FILE_FIELD = 12;
const NEXT_ROW_ID_FIELD = 14;
const TRANSACTION_SECTION_FIELD = 21;
const REPLACED: readonly number[] = [
  VERSION_FIELD,
  TIMESTAMP_FIELD,
  MAX_FRAGMENT_ID_FIELD,
  TRANSACTION_FILE_FIELD,
  NEXT_ROW_ID_FIELD,
  TRANSACTION_SECTION_FIELD,
];

const LENGTH_BYTES = 4;
const FORMAT_BYTES = 8;

/** A commit that the service makes itself, because the engine cannot, or not precisely enough. It writes no data. */
export interface NextCommit {
  /** The manifest of the version that the commit follows. */
  readonly base: Buffer;
  readonly baseVersion: number;
  /** The transaction's id. */
  readonly uuid: string;
  readonly nowMilliseconds: number;
}

/** Fields of `Manifest` that differ from the source, or are dropped. */
interface ChangedFields {
  readonly fields: readonly number[];
  readonly bytes: Buffer;
}

interface NextManifest extends NextCommit {
  /** The manifest whose contents are committed. */
  readonly source: Buffer;
  readonly transaction: Buffer;
  readonly changed?: ChangedFields;
}

/** Encodes a transaction as in Lance's transaction.proto. `operation` is its field with the operation. */
export function encodeTransaction({ baseVersion, uuid }: NextCommit, operation: Buffer): Buffer {
  return Buffer.concat([encodeNumber(1, baseVersion), encodeBytes(2, Buffer.from(uuid)), operation]);
}

export function transactionFileName({ baseVersion, uuid }: NextCommit): string {
  return `${baseVersion}-${uuid}.txn`;
}

/**
 * The manifest of the version right after the base. Ids of fragments and rows continue from the base, so none is
 * reused.
 */
export function encodeNextManifest(commit: NextManifest): Buffer {
  const { source, base, baseVersion, nowMilliseconds, changed } = commit;
  const [old, latest] = [readManifest(source), readManifest(base)];
  const largest = (field: number): Buffer => {
    const isKnown = old.has(field) || latest.has(field);
    return isKnown ? encodeNumber(field, Math.max(old.number(field), latest.number(field))) : Buffer.alloc(0);
  };
  const replaced = new Set([...REPLACED, ...(changed?.fields ?? [])]);
  const section = withLength(commit.transaction);
  return replaceMessage({ file: source, keptBytes: findTransaction(source, old) }, section, (message, start) =>
    Buffer.concat([
      ...splitFields(message).flatMap(({ field, bytes }) => (replaced.has(field) ? [] : [bytes])),
      ...(changed === undefined ? [] : [changed.bytes]),
      encodeNumber(VERSION_FIELD, baseVersion + 1),
      encodeBytes(TIMESTAMP_FIELD, encodeTimestamp(nowMilliseconds)),
      largest(MAX_FRAGMENT_ID_FIELD),
      encodeBytes(TRANSACTION_FILE_FIELD, Buffer.from(transactionFileName(commit))),
      largest(NEXT_ROW_ID_FIELD),
      encodeNumber(TRANSACTION_SECTION_FIELD, start),
    ]),
  );
}

/** The offset of the transaction's section if it is the last one: the next manifest puts its own transaction there. */
function findTransaction(file: Buffer, manifest: Message): number | undefined {
  if (!manifest.has(TRANSACTION_SECTION_FIELD)) return undefined;
  const start = manifest.number(TRANSACTION_SECTION_FIELD);
  const end = startOfMessage(file);
  return start < end && start + LENGTH_BYTES + readSection(file, start).length === end ? start : undefined;
}

interface ReplacedFile {
  readonly file: Buffer;
  /** The sections before the message that are kept; all if absent. */
  readonly keptBytes?: number | undefined;
}

/** A manifest file with another message, and with one more section at `start`. */
export function replaceMessage(
  { file, keptBytes }: ReplacedFile,
  section: Buffer,
  encode: (message: Buffer, start: number) => Buffer,
): Buffer {
  const messageStart = startOfMessage(file);
  const start = keptBytes ?? messageStart;
  const footer = Buffer.alloc(8);
  footer.writeBigUInt64LE(BigInt(start + section.length));
  // The sections before the message keep their offsets, to which the manifest refers.
  const sections = file.subarray(0, start);
  const message = withLength(encode(readSection(file, messageStart), start));
  return Buffer.concat([sections, section, message, footer, file.subarray(file.length - FORMAT_BYTES)]);
}

function startOfMessage(file: Buffer): number {
  const start = findMessage(file.length, (at, length) => file.subarray(at, at + length));
  if (start === undefined) throw new Error('The manifest is torn.');
  return start;
}

export function withLength(section: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(section.length);
  return Buffer.concat([length, section]);
}

/** Of `Transaction` in Lance's transaction.proto. */
const RESTORE_FIELD = 106;

interface Restore extends NextCommit {
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

/** `schema_metadata` of `Manifest` in Lance's table.proto. */
const SCHEMA_METADATA_FIELD = 5;
/** `UpdateConfig` of `Transaction` in transaction.proto, and its `schema_metadata_updates`. */
const UPDATE_CONFIG_FIELD = 110;
const SCHEMA_METADATA_UPDATES_FIELD = 8;

interface SchemaMetadataChange extends NextCommit {
  /** All metadata of the schema from now on. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** As a whole, not as a difference, so that a writer that began before can see the current metadata. */
export function encodeSchemaMetadataTransaction(change: SchemaMetadataChange): Buffer {
  const updates = Buffer.concat([...encodePairs(1, change.metadata), encodeNumber(2, 1)]);
  const operation = encodeBytes(SCHEMA_METADATA_UPDATES_FIELD, updates);
  return encodeTransaction(change, encodeBytes(UPDATE_CONFIG_FIELD, operation));
}

/** The manifest of the version after the base that differs only in the metadata of the schema. */
export function encodeSchemaMetadataManifest(change: SchemaMetadataChange): Buffer {
  const bytes = Buffer.concat(encodePairs(SCHEMA_METADATA_FIELD, change.metadata));
  return encodeNextManifest({
    ...change,
    source: change.base,
    transaction: encodeSchemaMetadataTransaction(change),
    changed: { fields: [SCHEMA_METADATA_FIELD], bytes },
  });
}

/** A map is encoded as a list of messages with key and value. */
function encodePairs(field: number, metadata: Readonly<Record<string, string>>): readonly Buffer[] {
  return Object.entries(metadata).map(([key, value]) =>
    encodeBytes(field, Buffer.concat([encodeBytes(1, Buffer.from(key)), encodeBytes(2, Buffer.from(value))])),
  );
}

/** https://protobuf.dev/reference/protobuf/google.protobuf/#timestamp */
function encodeTimestamp(milliseconds: number): Buffer {
  const seconds = Math.floor(milliseconds / 1000);
  return Buffer.concat([encodeNumber(1, seconds), encodeNumber(2, (milliseconds - seconds * 1000) * 1_000_000)]);
}
