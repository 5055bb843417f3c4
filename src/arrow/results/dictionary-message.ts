import { fixedWidthBytes } from '../format/column-layout.ts';
import { isValid } from './result-columns.ts';
import type { ResultColumn } from './result-columns.ts';

/** The buffers of a dictionary batch in the order of the format: validity, then offsets or values, then data. */
export interface DictionaryParts {
  readonly id: number;
  readonly rows: number;
  readonly nulls: number;
  readonly buffers: readonly Buffer[];
  readonly version: number;
}

export interface FramedDictionary {
  /** Prefix, metadata and body. */
  readonly bytes: Buffer;
  readonly metadataBytes: number;
}

const PREFIX_BYTES = 8;
const DICTIONARY_BATCH = 2;
const ALIGNMENT = 64;

/**
 * The metadata is a flatbuffer laid out by hand: a Message with a DictionaryBatch with a RecordBatch of one column. Each
 * table stands right behind its vtable, and every 64-bit number on a multiple of 8.
 */
const MESSAGE = { vtable: 4, table: 16, entries: [12, 24, 4, 6, 8, 16] } as const;
const DICTIONARY = { vtable: 40, table: 56, entries: [10, 20, 8, 4, 16] } as const;
const BATCH = { vtable: 76, table: 88, entries: [10, 24, 8, 16, 20] } as const;
const NODES_AT = 116;
const BUFFERS_AT = 140;

/** A batch whose values stand behind those that the dictionary already has. */
export function frameDelta(parts: DictionaryParts): FramedDictionary {
  const body = Buffer.concat(parts.buffers.map(padded));
  const flatbuffer = Buffer.alloc(align(BUFFERS_AT + 4 + 16 * parts.buffers.length + PREFIX_BYTES) - PREFIX_BYTES);
  writeMessage(flatbuffer, parts.version, body.length);
  writeDictionary(flatbuffer, parts.id);
  writeBatch(flatbuffer, parts);
  const prefix = Buffer.alloc(PREFIX_BYTES, 0xff);
  prefix.writeInt32LE(flatbuffer.length, 4);
  return { bytes: Buffer.concat([prefix, flatbuffer, body]), metadataBytes: PREFIX_BYTES + flatbuffer.length };
}

function writeMessage(target: Buffer, version: number, bodyBytes: number): void {
  target.writeUInt32LE(MESSAGE.table, 0);
  writeVtable(target, MESSAGE);
  target.writeInt16LE(version, MESSAGE.table + 4);
  target.writeUInt8(DICTIONARY_BATCH, MESSAGE.table + 6);
  writeOffset(target, MESSAGE.table + 8, DICTIONARY.table);
  target.writeBigInt64LE(BigInt(bodyBytes), MESSAGE.table + 16);
}

function writeDictionary(target: Buffer, id: number): void {
  writeVtable(target, DICTIONARY);
  writeOffset(target, DICTIONARY.table + 4, BATCH.table);
  target.writeBigInt64LE(BigInt(id), DICTIONARY.table + 8);
  target.writeUInt8(1, DICTIONARY.table + 16);
}

function writeBatch(target: Buffer, { rows, nulls, buffers }: DictionaryParts): void {
  writeVtable(target, BATCH);
  target.writeBigInt64LE(BigInt(rows), BATCH.table + 8);
  writeOffset(target, BATCH.table + 16, NODES_AT);
  writeOffset(target, BATCH.table + 20, BUFFERS_AT);
  target.writeUInt32LE(1, NODES_AT);
  target.writeBigInt64LE(BigInt(rows), NODES_AT + 4);
  target.writeBigInt64LE(BigInt(nulls), NODES_AT + 12);
  target.writeUInt32LE(buffers.length, BUFFERS_AT);
  let offset = 0;
  for (const [index, buffer] of buffers.entries()) {
    target.writeBigInt64LE(BigInt(offset), BUFFERS_AT + 4 + 16 * index);
    target.writeBigInt64LE(BigInt(buffer.length), BUFFERS_AT + 12 + 16 * index);
    offset += align(buffer.length);
  }
}

interface TablePlace {
  readonly vtable: number;
  readonly table: number;
  readonly entries: readonly number[];
}

function writeVtable(target: Buffer, { vtable, table, entries }: TablePlace): void {
  for (const [index, entry] of entries.entries()) target.writeUInt16LE(entry, vtable + 2 * index);
  target.writeInt32LE(table - vtable, table);
}

function writeOffset(target: Buffer, at: number, to: number): void {
  target.writeUInt32LE(to - at, at);
}

function padded(buffer: Buffer): Buffer {
  return Buffer.concat([buffer, Buffer.alloc(align(buffer.length) - buffer.length)]);
}

function align(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

/** The values of a dictionary as bytes; `undefined` for null. */
export function readValues(column: ResultColumn): readonly (Buffer | undefined)[] {
  const read = valueReader(column);
  return Array.from({ length: column.length }, (_unused, row) => (isValid(column, row) ? read(row) : undefined));
}

/** The buffers of a column of these values, of the same type as `column`: validity first. */
export function writeValues(column: ResultColumn, values: readonly (Buffer | undefined)[]): readonly Buffer[] {
  const validity = Buffer.alloc(values.includes(undefined) ? Math.ceil(values.length / 8) : 0);
  for (const [row, value] of values.entries()) {
    if (value !== undefined && validity.length > 0) validity[row >> 3] = (validity[row >> 3] ?? 0) | (1 << (row & 7));
  }
  const width = offsetWidth(column);
  if (width === undefined) {
    const empty = Buffer.alloc(fixedWidthBytes(column.type));
    return [validity, Buffer.concat(values.map((value) => value ?? empty))];
  }
  return [validity, writeOffsets(values, width), Buffer.concat(values.map((value) => value ?? Buffer.alloc(0)))];
}

function valueReader(column: ResultColumn): (row: number) => Buffer {
  const [first = Buffer.alloc(0), data = Buffer.alloc(0)] = column.buffers;
  const width = offsetWidth(column);
  if (width !== undefined)
    return (row) => data.subarray(readOffset(first, row, width), readOffset(first, row + 1, width));
  const bytes = fixedWidthBytes(column.type);
  return (row) => first.subarray(bytes * row, bytes * (row + 1));
}

function offsetWidth({ type }: ResultColumn): 4 | 8 | undefined {
  if (type.kind !== 'utf8' && type.kind !== 'binary') return undefined;
  return type.layout === 'large' ? 8 : 4;
}

export function readOffset(offsets: Buffer, index: number, width: 4 | 8): number {
  return width === 4 ? offsets.readInt32LE(4 * index) : Number(offsets.readBigInt64LE(8 * index));
}

function writeOffsets(values: readonly (Buffer | undefined)[], width: 4 | 8): Buffer {
  const offsets = Buffer.alloc(width * (values.length + 1));
  let end = 0;
  for (const [row, value] of values.entries()) {
    end += value?.length ?? 0;
    if (width === 4) offsets.writeInt32LE(end, 4 * (row + 1));
    else offsets.writeBigInt64LE(BigInt(end), 8 * (row + 1));
  }
  return offsets;
}
