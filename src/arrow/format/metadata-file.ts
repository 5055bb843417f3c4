import { writeOffset, writeVtable } from './flatbuffer.ts';
import { createFooter, FILE_START } from './footer.ts';

/** The metadata version that all Arrow libraries have written since 1.0. */
const METADATA_V5 = 4;

/** An Arrow IPC file whose schema has metadata but no columns: the form in which the engine takes schema metadata. */
export function metadataFile(entries: Iterable<readonly [key: string, value: string]>): Buffer {
  const metadata = schemaTable([...entries]);
  const schema = { framed: Buffer.alloc(0), metadata, table: SCHEMA.table, version: METADATA_V5 };
  return Buffer.concat([FILE_START, createFooter({ schema, dictionaries: [], batches: [] })]);
}

/** Fixed positions: two vtables, the table of the schema, and its two vectors. Pairs of key and value follow. */
const SCHEMA = { vtable: 0, table: 12, entries: [10, 12, 0, 4, 8], fields: 32, metadata: 36 } as const;
const PAIR = { vtable: 24, entries: [8, 12, 4, 8], bytes: 12 } as const;

function schemaTable(entries: readonly (readonly [key: string, value: string])[]): Buffer {
  const pairs = entries.map(([key, value]) => toPair(toText(key), toText(value)));
  const target = Buffer.alloc(SCHEMA.metadata + 4 + 4 * pairs.length);
  writeVtable(target, SCHEMA);
  writeOffset(target, SCHEMA.table + 4, SCHEMA.fields);
  writeOffset(target, SCHEMA.table + 8, SCHEMA.metadata);
  target.writeUInt32LE(pairs.length, SCHEMA.metadata);
  let at = target.length;
  for (const [index, pair] of pairs.entries()) {
    writeOffset(target, SCHEMA.metadata + 4 + 4 * index, at);
    pair.writeInt32LE(at - PAIR.vtable);
    at += pair.length;
  }
  for (const [index, entry] of PAIR.entries.entries()) target.writeUInt16LE(entry, PAIR.vtable + 2 * index);
  return Buffer.concat([target, ...pairs]);
}

/** All pairs share one vtable, whose distance is set once the pair's position is known. */
function toPair(key: Buffer, value: Buffer): Buffer {
  const pair = Buffer.concat([Buffer.alloc(PAIR.bytes), key, value]);
  writeOffset(pair, 4, PAIR.bytes);
  writeOffset(pair, 8, PAIR.bytes + key.length);
  return pair;
}

/** Its length, its bytes, a zero behind them, and zeros up to the next multiple of 4. */
function toText(value: string): Buffer {
  const bytes = Buffer.byteLength(value);
  const target = Buffer.alloc(4 + Math.ceil((bytes + 1) / 4) * 4);
  target.writeUInt32LE(bytes);
  target.write(value, 4);
  return target;
}
