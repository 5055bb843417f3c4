import { FILE_MAGIC, footerBytes, writeFooter } from './footer.ts';

/** The metadata version that all Arrow libraries have written since 1.0. */
const METADATA_V5 = 4;
const HEAD_BYTES = 8;

/**
 * An Arrow IPC file whose schema has no columns, only metadata: the form in which the engine takes a table's schema
 * metadata. It is a flatbuffer laid out by hand, as the footer around it is.
 */
export function metadataFile(entries: Iterable<readonly [key: string, value: string]>): Buffer {
  const metadata = schemaTable([...entries]);
  const footer = Buffer.alloc(footerBytes(metadata.length, 0));
  const schema = { framed: Buffer.alloc(0), metadata, table: SCHEMA.table, version: METADATA_V5 };
  writeFooter(footer, { schema, dictionaries: [], batches: [] });
  const head = Buffer.alloc(HEAD_BYTES);
  head.set(FILE_MAGIC);
  return Buffer.concat([head, footer]);
}

/** Where the fixed parts stand: two vtables, the table of the schema, and its two vectors. */
const SCHEMA = { vtable: 0, entries: [10, 12, 0, 4, 8], table: 12, fields: 32, metadata: 36 } as const;
const PAIR = { vtable: 24, entries: [8, 12, 4, 8], bytes: 12 } as const;

function schemaTable(entries: readonly (readonly [key: string, value: string])[]): Buffer {
  const texts = entries.map(([key, value]) => ({ key: text(key), value: text(value) }));
  const pairsAt = SCHEMA.metadata + 4 + 4 * entries.length;
  const target = Buffer.alloc(pairsAt + texts.reduce((sum, each) => sum + pairBytes(each), 0));
  for (const [index, entry] of SCHEMA.entries.entries()) target.writeUInt16LE(entry, SCHEMA.vtable + 2 * index);
  for (const [index, entry] of PAIR.entries.entries()) target.writeUInt16LE(entry, PAIR.vtable + 2 * index);
  target.writeInt32LE(SCHEMA.table - SCHEMA.vtable, SCHEMA.table);
  target.writeUInt32LE(SCHEMA.fields - (SCHEMA.table + 4), SCHEMA.table + 4);
  target.writeUInt32LE(SCHEMA.metadata - (SCHEMA.table + 8), SCHEMA.table + 8);
  target.writeUInt32LE(entries.length, SCHEMA.metadata);
  let at = pairsAt;
  for (const [index, pair] of texts.entries()) {
    const slot = SCHEMA.metadata + 4 + 4 * index;
    target.writeUInt32LE(at - slot, slot);
    writePair(target, at, pair);
    at += pairBytes(pair);
  }
  return target;
}

interface PairTexts {
  readonly key: Buffer;
  readonly value: Buffer;
}

function pairBytes({ key, value }: PairTexts): number {
  return PAIR.bytes + key.length + value.length;
}

function writePair(target: Buffer, at: number, { key, value }: PairTexts): void {
  const keyAt = at + PAIR.bytes;
  const valueAt = keyAt + key.length;
  target.writeInt32LE(at - PAIR.vtable, at);
  target.writeUInt32LE(keyAt - (at + 4), at + 4);
  target.writeUInt32LE(valueAt - (at + 8), at + 8);
  target.set(key, keyAt);
  target.set(value, valueAt);
}

/** Its length, its bytes, a zero behind them, and zeros up to the next multiple of 4. */
function text(value: string): Buffer {
  const bytes = Buffer.byteLength(value);
  const target = Buffer.alloc(4 + Math.ceil((bytes + 1) / 4) * 4);
  target.writeUInt32LE(bytes);
  target.write(value, 4);
  return target;
}
