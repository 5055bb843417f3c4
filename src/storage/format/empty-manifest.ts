import { readManifest } from './manifest.ts';
import { encodeNextManifest, encodeTransaction } from './next-manifest.ts';
import type { NextCommit } from './next-manifest.ts';
import { encodeBytes } from './protobuf.ts';

/** Of `Manifest` in Lance's table.proto. */
const MANIFEST = { fields: 1, fragments: 2, schemaMetadata: 5, indexSection: 6, dataFormat: 15 } as const;
/** `Overwrite` of `Transaction` in transaction.proto. */
const OVERWRITE_FIELD = 102;
const OVERWRITE = { schema: 2, schemaMetadata: 3 } as const;

export interface NewSchema {
  /** The manifest of any table that has the new schema and no rows. */
  readonly schemaManifest: Buffer;
  /** Whether that table also defines how data files are stored from now on. */
  readonly replacesFormat: boolean;
}

type EmptyCommit = NextCommit & NewSchema;

export function encodeOverwriteTransaction(commit: EmptyCommit): Buffer {
  const schema = readManifest(commit.schemaManifest);
  const copy = (from: number, to: number): Buffer =>
    Buffer.concat(schema.all(from).map((each) => encodeBytes(to, each)));
  const operation = Buffer.concat([
    copy(MANIFEST.fields, OVERWRITE.schema),
    copy(MANIFEST.schemaMetadata, OVERWRITE.schemaMetadata),
  ]);
  return encodeTransaction(commit, encodeBytes(OVERWRITE_FIELD, operation));
}

/** The manifest of the version after the base, without rows and indexes, and with another schema. */
export function encodeEmptyManifest(commit: EmptyCommit): Buffer {
  const { schemaManifest, base, replacesFormat } = commit;
  const schema = readManifest(schemaManifest);
  const taken = [MANIFEST.fields, MANIFEST.schemaMetadata, ...(replacesFormat ? [MANIFEST.dataFormat] : [])];
  const bytes = taken.flatMap((field) => schema.all(field).map((each) => encodeBytes(field, each)));
  return encodeNextManifest({
    ...commit,
    source: base,
    transaction: encodeOverwriteTransaction(commit),
    changed: { fields: [...taken, MANIFEST.fragments, MANIFEST.indexSection], bytes: Buffer.concat(bytes) },
  });
}
