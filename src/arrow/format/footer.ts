import { MessageContext, writeI64, writeOffset, writeVtable } from './flatbuffer.ts';
import { CONTINUATION, PREFIX_BYTES, readMessageHeader } from './message-header.ts';
import type { MessageHeader } from './message-header.ts';

export const FILE_MAGIC = Buffer.from('ARROW1', 'latin1');
/** Padded to 8 bytes, to align what follows. */
export const FILE_START = Buffer.concat([FILE_MAGIC, Buffer.alloc(2)]);
export const END_OF_STREAM = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
/** The length of the footer, then the magic. */
export const TRAILER_BYTES = 4 + FILE_MAGIC.length;

/** The schema as received: it starts every file, and its metadata is part of the footer. */
export interface SchemaMessage {
  /** Prefix and metadata. */
  readonly framed: Buffer;
  readonly metadata: Buffer;
  /** Position of the schema table in the metadata. */
  readonly table: number;
  readonly version: number;
}

export function toSchemaMessage(framed: Buffer, { flatbuffer, table, version }: MessageHeader): SchemaMessage {
  return { framed, metadata: flatbuffer.bytes, table, version };
}

/** The position of a message in a file, as listed in the footer. */
export interface Block {
  readonly offset: number;
  /** Includes prefix and padding. */
  readonly metadataBytes: number;
  readonly bodyBytes: number;
}

export interface FooterParts {
  readonly schema: SchemaMessage;
  readonly dictionaries: readonly Block[];
  readonly batches: readonly Block[];
}

const BLOCK_BYTES = 24;

/**
 * A flatbuffer with a fixed layout: root offset, vtable, table, the two lists of blocks, and the schema message as
 * received. Offsets inside a flatbuffer are relative, so the footer can point at the schema inside that copy.
 */
const FOOTER = { vtable: 4, table: 16, entries: [12, 20, 4, 8, 12, 16] } as const;
const FIELD = { version: 20, schema: 24, dictionaries: 28, batches: 32 } as const;
/** Block lists start so that their first element is at a multiple of 8. */
const DICTIONARIES_AT = 44;

export function footerBytes(schema: SchemaMessage, blocks: number): number {
  const listsEnd = DICTIONARIES_AT + 4 + BLOCK_BYTES * blocks + 4 + 4;
  return align(align(listsEnd) + schema.metadata.length) + TRAILER_BYTES;
}

export function createFooter({ schema, dictionaries, batches }: FooterParts): Buffer {
  const batchesAt = DICTIONARIES_AT + 4 + BLOCK_BYTES * dictionaries.length + 4;
  const schemaAt = align(batchesAt + 4 + BLOCK_BYTES * batches.length);
  const target = Buffer.alloc(footerBytes(schema, dictionaries.length + batches.length));
  writeOffset(target, 0, FOOTER.table);
  writeVtable(target, FOOTER);
  target.writeInt16LE(schema.version, FIELD.version);
  writeOffset(target, FIELD.schema, schemaAt + schema.table);
  writeOffset(target, FIELD.dictionaries, DICTIONARIES_AT);
  writeOffset(target, FIELD.batches, batchesAt);
  writeBlocks(target, DICTIONARIES_AT, dictionaries);
  writeBlocks(target, batchesAt, batches);
  target.set(schema.metadata, schemaAt);
  const length = target.length - TRAILER_BYTES;
  target.writeInt32LE(length, length);
  target.set(FILE_MAGIC, length + 4);
  return target;
}

/** An Arrow file with the schema of another file, which the service has written, and without batches. */
export function toSchemaFile(file: Buffer): Buffer {
  const isOld = file.readUInt32LE(FILE_START.length) !== CONTINUATION;
  const metadataAt = FILE_START.length + (isOld ? 4 : PREFIX_BYTES);
  const end = metadataAt + file.readInt32LE(metadataAt - 4);
  const framed = file.subarray(FILE_START.length, end);
  const header = readMessageHeader(file.subarray(metadataAt, end), new MessageContext('The schema', FILE_START.length));
  const footer = createFooter({ schema: toSchemaMessage(framed, header), dictionaries: [], batches: [] });
  return Buffer.concat([FILE_START, framed, END_OF_STREAM, footer]);
}

function writeBlocks(target: Buffer, at: number, blocks: readonly Block[]): void {
  target.writeUInt32LE(blocks.length, at);
  for (const [index, block] of blocks.entries()) {
    const start = at + 4 + BLOCK_BYTES * index;
    writeI64(target, block.offset, start);
    target.writeInt32LE(block.metadataBytes, start + 8);
    writeI64(target, block.bodyBytes, start + 16);
  }
}

function align(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}
