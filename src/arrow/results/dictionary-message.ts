import { fixedWidthBytes, offsetBytes, readOffset } from '../format/column-layout.ts';
import type { OffsetBytes } from '../format/column-layout.ts';
import { writeOffset, writeVtable } from '../format/flatbuffer.ts';
import { HEADER_KIND, PREFIX_BYTES } from '../format/message-header.ts';
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

const ALIGNMENT = 64;

/**
 * The metadata is a flatbuffer with a fixed layout: a Message with a DictionaryBatch with a RecordBatch of one column.
 * Each table follows its vtable, and every 64-bit number is on a multiple of 8.
 */
const MESSAGE = { vtable: 4, table: 16, entries: [12, 24, 4, 6, 8, 16] } as const;
const DICTIONARY = { vtable: 40, table: 56, entries: [10, 20, 8, 4, 16] } as const;
const BATCH = { vtable: 76, table: 88, entries: [10, 24, 8, 16, 20] } as const;
const NODES_AT = 116;
const BUFFERS_AT = 140;

/** A batch whose values are appended to those of the dictionary. */
export function frameDelta(parts: DictionaryParts): FramedDictionary {
  const body = Buffer.concat(parts.buffers.map(padded));
  const metadataBytes = align(PREFIX_BYTES + BUFFERS_AT + 4 + 16 * parts.buffers.length);
  const prefix = Buffer.alloc(PREFIX_BYTES, 0xff);
  prefix.writeInt32LE(metadataBytes - PREFIX_BYTES, 4);
  const target = Buffer.alloc(metadataBytes - PREFIX_BYTES);
  writeOffset(target, 0, MESSAGE.table);
  writeVtable(target, MESSAGE);
  target.writeInt16LE(parts.version, MESSAGE.table + 4);
  target.writeUInt8(HEADER_KIND.dictionaryBatch, MESSAGE.table + 6);
  writeOffset(target, MESSAGE.table + 8, DICTIONARY.table);
  target.writeBigInt64LE(BigInt(body.length), MESSAGE.table + 16);
  writeVtable(target, DICTIONARY);
  writeOffset(target, DICTIONARY.table + 4, BATCH.table);
  target.writeBigInt64LE(BigInt(parts.id), DICTIONARY.table + 8);
  target.writeUInt8(1, DICTIONARY.table + 16);
  writeBatch(target, parts);
  return { bytes: Buffer.concat([prefix, target, body]), metadataBytes };
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

function padded(buffer: Buffer): Buffer {
  return Buffer.concat([buffer], align(buffer.length));
}

function align(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

/** The values of a dictionary as bytes; `undefined` for null. */
export function readValues(column: ResultColumn): readonly (Buffer | undefined)[] {
  const [first = Buffer.alloc(0), data = Buffer.alloc(0)] = column.buffers;
  const { type } = column;
  const read = (row: number): Buffer => {
    if (type.kind === 'utf8' || type.kind === 'binary') {
      const width = offsetBytes(type);
      return data.subarray(readOffset(first, row, width), readOffset(first, row + 1, width));
    }
    const bytes = fixedWidthBytes(type);
    return first.subarray(bytes * row, bytes * (row + 1));
  };
  return Array.from({ length: column.length }, (_unused, row) => (isValid(column, row) ? read(row) : undefined));
}

/** The buffers of a column of these values, of the same type as `column`: validity first. */
export function writeValues({ type }: ResultColumn, values: readonly (Buffer | undefined)[]): readonly Buffer[] {
  const validity = Buffer.alloc(values.includes(undefined) ? Math.ceil(values.length / 8) : 0);
  for (const [row, value] of values.entries()) {
    if (value !== undefined && validity.length > 0) validity[row >> 3] = (validity[row >> 3] ?? 0) | (1 << (row & 7));
  }
  const isVariable = type.kind === 'utf8' || type.kind === 'binary';
  const empty = Buffer.alloc(isVariable ? 0 : fixedWidthBytes(type));
  const data = Buffer.concat(values.map((value) => value ?? empty));
  return isVariable ? [validity, writeOffsets(values, offsetBytes(type)), data] : [validity, data];
}

function writeOffsets(values: readonly (Buffer | undefined)[], bytes: OffsetBytes): Buffer {
  const offsets = Buffer.alloc(bytes * (values.length + 1));
  let end = 0;
  for (const [row, value] of values.entries()) {
    end += value?.length ?? 0;
    if (bytes === 4) offsets.writeInt32LE(end, 4 * (row + 1));
    else offsets.writeBigInt64LE(BigInt(end), 8 * (row + 1));
  }
  return offsets;
}
