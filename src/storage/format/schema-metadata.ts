import { encodeNextManifest, encodeTransaction } from './next-manifest.ts';
import type { NextCommit } from './next-manifest.ts';
import { encodeBytes, encodeNumber } from './protobuf.ts';

/** `schema_metadata` of `Manifest` in Lance's table.proto. */
const SCHEMA_METADATA_FIELD = 5;
/** `UpdateConfig` of `Transaction` in transaction.proto, and its `schema_metadata_updates`. */
const UPDATE_CONFIG_FIELD = 110;
const SCHEMA_METADATA_UPDATES_FIELD = 8;

export interface SchemaMetadataChange extends NextCommit {
  /** All pairs that the schema has from then on. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** As a whole, not as a difference: a writer that began before it sees what the metadata are now. */
export function encodeSchemaMetadataTransaction(change: SchemaMetadataChange): Buffer {
  const updates = Buffer.concat([...encodePairs(1, change.metadata), encodeNumber(2, 1)]);
  const operation = encodeBytes(SCHEMA_METADATA_UPDATES_FIELD, updates);
  return encodeTransaction(change, encodeBytes(UPDATE_CONFIG_FIELD, operation));
}

/** The manifest of the version after the base that differs from it in the metadata of the schema alone. */
export function encodeSchemaMetadataManifest(change: SchemaMetadataChange): Buffer {
  const bytes = Buffer.concat(encodePairs(SCHEMA_METADATA_FIELD, change.metadata));
  return encodeNextManifest({
    ...change,
    source: change.base,
    transaction: encodeSchemaMetadataTransaction(change),
    changed: { fields: [SCHEMA_METADATA_FIELD], bytes },
  });
}

/** A map of the format is a list of messages with key and value. */
function encodePairs(field: number, metadata: Readonly<Record<string, string>>): readonly Buffer[] {
  return Object.entries(metadata).map(([key, value]) =>
    encodeBytes(field, Buffer.concat([encodeBytes(1, Buffer.from(key)), encodeBytes(2, Buffer.from(value))])),
  );
}
