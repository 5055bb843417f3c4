import { offsetBytes, requireFixedWidth } from '../format/column-layout.ts';
import type { OffsetBytes } from '../format/column-layout.ts';
import { writeI64, writeOffset, writeVtable } from '../format/flatbuffer.ts';
import { HEADER_KIND, PREFIX_BYTES } from '../format/message-header.ts';
import { bytesReader, isValid } from './result-columns.ts';
import type { ResultColumn } from './result-columns.ts';
import type { ResultMessage } from './result-file.ts';

export type FramedDictionary = Pick<ResultMessage, 'bytes' | 'metadataBytes'>;

/** The values of a dictionary as bytes; `undefined` for null. */
export type DictionaryValues = readonly (Buffer | undefined)[];

interface DictionaryBatch {
  readonly id: number;
  readonly version: number;
  /** Whether the values are appended to the previous ones instead of replacing them. */
  readonly isDelta: boolean;
  readonly values: DictionaryValues;
  /** A column of the same type. */
  readonly column: ResultColumn;
}

const ALIGNMENT = 64;

/**
 * The metadata is a flatbuffer with a fixed layout: a Message with a DictionaryBatch with a RecordBatch of one column.
 * Each table follows its vtable, and every 64-bit number is at a multiple of 8.
 */
const MESSAGE = { vtable: 4, table: 16, entries: [12, 24, 4, 6, 8, 16] } as const;
const DICTIONARY = { vtable: 40, table: 56, entries: [10, 20, 8, 4, 16] } as const;
const BATCH = { vtable: 76, table: 88, entries: [10, 24, 8, 16, 20] } as const;
const NODES_AT = 116;
const BUFFERS_AT = 140;

export function frameDictionary({ id, version, isDelta, values, column }: DictionaryBatch): FramedDictionary {
  const buffers = writeValues(column, values);
  const body = Buffer.concat(buffers.map((buffer) => Buffer.concat([buffer], align(buffer.length))));
  const metadataBytes = align(PREFIX_BYTES + BUFFERS_AT + 4 + 16 * buffers.length);
  const prefix = Buffer.alloc(PREFIX_BYTES, 0xff);
  prefix.writeInt32LE(metadataBytes - PREFIX_BYTES, 4);
  const target = Buffer.alloc(metadataBytes - PREFIX_BYTES);
  writeOffset(target, 0, MESSAGE.table);
  writeVtable(target, MESSAGE);
  target.writeInt16LE(version, MESSAGE.table + 4);
  target.writeUInt8(HEADER_KIND.dictionaryBatch, MESSAGE.table + 6);
  writeOffset(target, MESSAGE.table + 8, DICTIONARY.table);
  writeI64(target, body.length, MESSAGE.table + 16);
  writeVtable(target, DICTIONARY);
  writeOffset(target, DICTIONARY.table + 4, BATCH.table);
  writeI64(target, id, DICTIONARY.table + 8);
  target.writeUInt8(isDelta ? 1 : 0, DICTIONARY.table + 16);
  writeBatch(target, values, buffers);
  return { bytes: Buffer.concat([prefix, target, body]), metadataBytes };
}

function writeBatch(target: Buffer, values: DictionaryValues, buffers: readonly Buffer[]): void {
  const nulls = values.filter((value) => value === undefined).length;
  writeVtable(target, BATCH);
  writeI64(target, values.length, BATCH.table + 8);
  writeOffset(target, BATCH.table + 16, NODES_AT);
  writeOffset(target, BATCH.table + 20, BUFFERS_AT);
  target.writeUInt32LE(1, NODES_AT);
  writeI64(target, values.length, NODES_AT + 4);
  writeI64(target, nulls, NODES_AT + 12);
  target.writeUInt32LE(buffers.length, BUFFERS_AT);
  let offset = 0;
  for (const [index, buffer] of buffers.entries()) {
    writeI64(target, offset, BUFFERS_AT + 4 + 16 * index);
    writeI64(target, buffer.length, BUFFERS_AT + 12 + 16 * index);
    offset += align(buffer.length);
  }
}

function align(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

/** The values of all rows, or of the given ones. */
export function readValues(column: ResultColumn, rows?: readonly number[]): DictionaryValues {
  const read = bytesReader(column);
  const valueOf = (row: number): Buffer | undefined => (isValid(column, row) ? read(row) : undefined);
  return rows?.map(valueOf) ?? Array.from({ length: column.length }, (_unused, row) => valueOf(row));
}

/** In format order: validity, then offsets or values, then data. */
function writeValues({ type }: ResultColumn, values: DictionaryValues): readonly Buffer[] {
  const validity = values.includes(undefined) ? toBitmap(values.map((value) => value !== undefined)) : Buffer.alloc(0);
  if (type.kind === 'bool') return [validity, toBitmap(values.map((value) => value?.[0] === 1))];
  const isVariable = type.kind === 'utf8' || type.kind === 'binary';
  const empty = Buffer.alloc(isVariable ? 0 : requireFixedWidth(type));
  const data = Buffer.concat(values.map((value) => value ?? empty));
  return isVariable ? [validity, writeOffsets(values, offsetBytes(type)), data] : [validity, data];
}

function toBitmap(bits: readonly boolean[]): Buffer {
  const bitmap = Buffer.alloc(Math.ceil(bits.length / 8));
  for (const [row, isSet] of bits.entries()) {
    if (isSet) bitmap[row >> 3] = (bitmap[row >> 3] ?? 0) | (1 << (row & 7));
  }
  return bitmap;
}

function writeOffsets(values: DictionaryValues, bytes: OffsetBytes): Buffer {
  const offsets = Buffer.alloc(bytes * (values.length + 1));
  let end = 0;
  for (const [row, value] of values.entries()) {
    end += value?.length ?? 0;
    if (bytes === 4) offsets.writeInt32LE(end, 4 * (row + 1));
    else writeI64(offsets, end, 8 * (row + 1));
  }
  return offsets;
}

/** Null rows may contain any index, even one past the end. */
export function rewriteIndices({ type, length, buffers }: ResultColumn, toNew: (index: number) => number): void {
  const [indices] = buffers;
  if (type.kind !== 'dictionary' || indices === undefined) return;
  const bytes = type.index.bits / 8;
  for (let at = 0; at < length * bytes; at += bytes) {
    if (bytes === 8) indices.writeBigUInt64LE(BigInt(toNew(Number(indices.readBigUInt64LE(at)))), at);
    else indices.writeUIntLE(toNew(indices.readUIntLE(at, bytes)), at, bytes);
  }
}
