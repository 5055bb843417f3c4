import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { offsetBytes, requireFixedWidth } from '../format/column-layout.ts';
import type { OffsetBytes } from '../format/column-layout.ts';
import { writeI64, writeOffset, writeVtable } from '../format/flatbuffer.ts';
import type { SchemaMessage } from '../format/footer.ts';
import { HEADER_KIND, PREFIX_BYTES } from '../format/message-header.ts';
import { readResultSchema } from '../schema/schema-reader.ts';
import type { ReadSchema } from '../schema/schema-reader.ts';
import { bytesReader, isValid, readColumns, readDictionaryColumn } from './result-columns.ts';
import type { ResultColumn } from './result-columns.ts';
import { dictionaryIdOf } from './result-file.ts';
import type { ResultMessage } from './result-file.ts';

type FramedDictionary = Pick<ResultMessage, 'bytes' | 'metadataBytes'>;

interface MergedDictionary {
  /** The dictionary of the batch before. */
  last: ResultMessage;
  /** Index of each value, by its bytes; built only when a different dictionary arrives. */
  indexOf: Map<string, number> | undefined;
  /** How many values the file has, repeated ones counted. */
  size: number;
  /** New indices of the values of `last`; `undefined` when they are unchanged. */
  newIndices: readonly number[] | undefined;
}

/**
 * The engine gives every batch separate dictionaries, which differ from fragment to fragment. A file has one for each
 * column, which can grow but not change: so the first is kept, new values are appended to it, and the indices of later
 * batches are rewritten in place.
 */
export class DictionaryMerge {
  readonly #message: SchemaMessage;
  readonly #merged = new Map<number, MergedDictionary>();
  #read: ReadSchema | undefined;

  constructor(message: SchemaMessage) {
    this.#message = message;
  }

  /** The dictionary batches to write before the batches that use this dictionary. */
  add(dictionary: ResultMessage): readonly FramedDictionary[] {
    const id = dictionaryIdOf(dictionary.header);
    const merged = this.#merged.get(id);
    if (merged === undefined) {
      this.#merged.set(id, { last: dictionary, indexOf: undefined, size: 0, newIndices: undefined });
      return [dictionary];
    }
    if (merged.last.bytes.equals(dictionary.bytes)) return [];
    merged.indexOf ??= this.#indexFirst(merged, id);
    merged.last = dictionary;
    return this.#grow(merged, merged.indexOf, id);
  }

  /** Changes the indices of a batch to those of the file. */
  rewrite(batch: ResultMessage): ResultMessage {
    if ([...this.#merged.values()].every(({ newIndices }) => newIndices === undefined)) return batch;
    const { fields } = this.#schema.schema;
    for (const column of readColumns(batch.header, batch.header.table, fields, batch.body)) this.#rewriteColumn(column);
    return batch;
  }

  get #schema(): ReadSchema {
    this.#read ??= readResultSchema(this.#message);
    return this.#read;
  }

  /** Reads the first dictionary, which until now was passed on undecoded. */
  #indexFirst(merged: MergedDictionary, id: number): Map<string, number> {
    const values = readValues(this.#readColumn(merged.last, id));
    merged.size = values.length;
    return new Map(values.map((value, index) => [keyOf(value), index]));
  }

  #grow(merged: MergedDictionary, indexOf: Map<string, number>, id: number): readonly FramedDictionary[] {
    const column = this.#readColumn(merged.last, id);
    const added: (Buffer | undefined)[] = [];
    merged.newIndices = readValues(column).map((value) => {
      const known = indexOf.get(keyOf(value));
      if (known !== undefined) return known;
      const index = merged.size + added.length;
      indexOf.set(keyOf(value), index);
      added.push(value);
      return index;
    });
    if (added.length === 0) return [];
    merged.size += added.length;
    const { version } = this.#message;
    return [frameDelta({ id, version, values: added, buffers: writeValues(column, added) })];
  }

  #readColumn(message: ResultMessage, id: number): ResultColumn {
    return readDictionaryColumn(message, this.#schema.dictionaries.valuesOf.get(id));
  }

  #rewriteColumn(column: ResultColumn): void {
    for (const child of column.children) this.#rewriteColumn(child);
    const { type, field } = column;
    if (type.kind !== 'dictionary') return;
    const newIndices = this.#merged.get(this.#schema.dictionaries.idOf.get(type) ?? -1)?.newIndices;
    const [indices] = column.buffers;
    if (newIndices === undefined || indices === undefined) return;
    const { bits, signed } = type.index;
    if (Math.max(0, ...newIndices) >= 2 ** (signed ? bits - 1 : bits)) {
      throw new ServiceError(
        'Unsupported',
        `The column ${quoteForMessage(field.name)} has more distinct values than the index type of its dictionary can count.`,
        { hint: 'Request an Arrow stream, in which dictionaries can change between batches.' },
      );
    }
    rewriteIndices(indices.subarray(0, (column.length * bits) / 8), bits / 8, newIndices);
  }
}

/** Rows that are null may hold any index, even one past the end. */
function rewriteIndices(indices: Buffer, bytes: number, newIndices: readonly number[]): void {
  for (let at = 0; at < indices.length; at += bytes) {
    if (bytes === 8) {
      indices.writeBigUInt64LE(BigInt(newIndices[Number(indices.readBigUInt64LE(at))] ?? 0), at);
    } else {
      indices.writeUIntLE(newIndices[indices.readUIntLE(at, bytes)] ?? 0, at, bytes);
    }
  }
}

function keyOf(value: Buffer | undefined): string {
  return value === undefined ? 'null' : `=${value.toString('latin1')}`;
}

type Values = readonly (Buffer | undefined)[];

interface DictionaryBatch {
  readonly id: number;
  readonly version: number;
  readonly values: Values;
  /** In the order of the format: validity, then offsets or values, then data. */
  readonly buffers: readonly Buffer[];
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

function frameDelta(parts: DictionaryBatch): FramedDictionary {
  const body = Buffer.concat(parts.buffers.map((buffer) => Buffer.concat([buffer], align(buffer.length))));
  const metadataBytes = align(PREFIX_BYTES + BUFFERS_AT + 4 + 16 * parts.buffers.length);
  const prefix = Buffer.alloc(PREFIX_BYTES, 0xff);
  prefix.writeInt32LE(metadataBytes - PREFIX_BYTES, 4);
  const target = Buffer.alloc(metadataBytes - PREFIX_BYTES);
  writeOffset(target, 0, MESSAGE.table);
  writeVtable(target, MESSAGE);
  target.writeInt16LE(parts.version, MESSAGE.table + 4);
  target.writeUInt8(HEADER_KIND.dictionaryBatch, MESSAGE.table + 6);
  writeOffset(target, MESSAGE.table + 8, DICTIONARY.table);
  writeI64(target, body.length, MESSAGE.table + 16);
  writeVtable(target, DICTIONARY);
  writeOffset(target, DICTIONARY.table + 4, BATCH.table);
  writeI64(target, parts.id, DICTIONARY.table + 8);
  target.writeUInt8(1, DICTIONARY.table + 16);
  writeBatch(target, parts);
  return { bytes: Buffer.concat([prefix, target, body]), metadataBytes };
}

function writeBatch(target: Buffer, { values, buffers }: DictionaryBatch): void {
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

/** The values of a dictionary as bytes; `undefined` for null. */
function readValues(column: ResultColumn): Values {
  const read = bytesReader(column);
  return Array.from({ length: column.length }, (_unused, row) => (isValid(column, row) ? read(row) : undefined));
}

/** The buffers of a column of these values, of the same type as `column`: validity first. */
function writeValues({ type }: ResultColumn, values: Values): readonly Buffer[] {
  const validity = Buffer.alloc(values.includes(undefined) ? Math.ceil(values.length / 8) : 0);
  for (const [row, value] of values.entries()) {
    if (value !== undefined && validity.length > 0) validity[row >> 3] = (validity[row >> 3] ?? 0) | (1 << (row & 7));
  }
  const isVariable = type.kind === 'utf8' || type.kind === 'binary';
  const empty = Buffer.alloc(isVariable ? 0 : requireFixedWidth(type));
  const data = Buffer.concat(values.map((value) => value ?? empty));
  return isVariable ? [validity, writeOffsets(values, offsetBytes(type)), data] : [validity, data];
}

function writeOffsets(values: Values, bytes: OffsetBytes): Buffer {
  const offsets = Buffer.alloc(bytes * (values.length + 1));
  let end = 0;
  for (const [row, value] of values.entries()) {
    end += value?.length ?? 0;
    if (bytes === 4) offsets.writeInt32LE(end, 4 * (row + 1));
    else writeI64(offsets, end, 8 * (row + 1));
  }
  return offsets;
}
