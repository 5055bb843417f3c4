/** Where a message stands in a file, as the footer lists it. */
export interface Block {
  readonly offset: number;
  /** Prefix and padding included. */
  readonly metadataBytes: number;
  readonly bodyBytes: number;
}

export interface FooterParts {
  readonly schema: SchemaMessage;
  readonly dictionaries: readonly Block[];
  readonly batches: readonly Block[];
}

export const FILE_MAGIC = Buffer.from('ARROW1', 'latin1');

const BLOCK_BYTES = 24;
/** The footer's own length, then the magic. */
const TRAILER_BYTES = 4 + FILE_MAGIC.length;

/**
 * A flatbuffer, laid out by hand: root offset, vtable, table, the two lists of blocks, and the schema message as it came.
 * Offsets inside a flatbuffer are relative, so the footer can point at the schema inside that copy.
 */
const VTABLE = { at: 4, entries: [12, 20, 4, 8, 12, 16] } as const;
const TABLE = { at: 16, version: 20, schema: 24, dictionaries: 28, batches: 32 } as const;
/** Block lists start where their first element falls on a multiple of 8. */
const DICTIONARIES_AT = 44;

export function footerBytes(schemaMetadataBytes: number, blocks: number): number {
  const listsEnd = DICTIONARIES_AT + 4 + BLOCK_BYTES * blocks + 4 + 4;
  return align(align(listsEnd) + schemaMetadataBytes) + TRAILER_BYTES;
}

/** Writes into `target`, which has exactly the length that `footerBytes` gives. */
export function writeFooter(target: Buffer, parts: FooterParts): void {
  const { schema } = parts;
  const batchesAt = DICTIONARIES_AT + 4 + BLOCK_BYTES * parts.dictionaries.length + 4;
  const schemaAt = align(batchesAt + 4 + BLOCK_BYTES * parts.batches.length);
  target.fill(0);
  target.writeUInt32LE(TABLE.at, 0);
  for (const [index, entry] of VTABLE.entries.entries()) target.writeUInt16LE(entry, VTABLE.at + 2 * index);
  target.writeInt32LE(TABLE.at - VTABLE.at, TABLE.at);
  target.writeInt16LE(schema.version, TABLE.version);
  target.writeUInt32LE(schemaAt + schema.table - TABLE.schema, TABLE.schema);
  target.writeUInt32LE(DICTIONARIES_AT - TABLE.dictionaries, TABLE.dictionaries);
  target.writeUInt32LE(batchesAt - TABLE.batches, TABLE.batches);
  writeBlocks(target, DICTIONARIES_AT, parts.dictionaries);
  writeBlocks(target, batchesAt, parts.batches);
  target.set(schema.metadata, schemaAt);
  const length = target.length - TRAILER_BYTES;
  target.writeInt32LE(length, length);
  target.set(FILE_MAGIC, length + 4);
}

function writeBlocks(target: Buffer, at: number, blocks: readonly Block[]): void {
  target.writeUInt32LE(blocks.length, at);
  for (const [index, block] of blocks.entries()) {
    const start = at + 4 + BLOCK_BYTES * index;
    target.writeBigInt64LE(BigInt(block.offset), start);
    target.writeInt32LE(block.metadataBytes, start + 8);
    target.writeBigInt64LE(BigInt(block.bodyBytes), start + 16);
  }
}

function align(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

/** The schema as it came, to be put at the head of every chunk and into its footer. */
export interface SchemaMessage {
  /** Prefix and metadata. */
  readonly framed: Buffer;
  readonly metadata: Buffer;
  /** Where the schema table stands in the metadata. */
  readonly table: number;
  readonly version: number;
}
