import { writeI64, writeOffset, writeVtable } from './flatbuffer.ts';
import { CONTINUATION, HEADER_KIND, PAIR_BYTES, PREFIX_BYTES } from './message-header.ts';

/** Fixed offsets in the metadata of a record batch: the tables of the message and of the batch, then its lists. */
const MESSAGE = { vtable: 4, table: 16, entries: [12, 20, 16, 18, 4, 8] } as const;
const MESSAGE_FIELD = { header: 20, bodyBytes: 24, version: 32, kind: 34 } as const;
const BATCH = { vtable: 36, table: 52, entries: [14, 24, 4, 12, 16, 0, 20] } as const;
const BATCH_FIELD = { rows: 56, nodes: 64, buffers: 68, variadicCounts: 72 } as const;
const NODES_AT = 76;

export interface FramedBatch {
  /** Prefix, metadata and body. */
  readonly bytes: Buffer;
  /** Includes the prefix. */
  readonly metadataBytes: number;
}

/** Collects the columns of a record batch in format order: a node for each column, then its buffers. */
export class BatchWriter {
  readonly #nodes: (readonly [rows: number, nulls: number])[] = [];
  readonly #buffers: Buffer[] = [];
  readonly #variadicCounts: number[] = [];

  addNode(rows: number, nulls: number): void {
    this.#nodes.push([rows, nulls]);
  }

  addBuffer(bytes: Buffer): void {
    this.#buffers.push(bytes);
  }

  /** How many of the buffers contain the data of a view column. */
  addVariadicCount(count: number): void {
    this.#variadicCounts.push(count);
  }

  toMessage(rows: number, version: number): FramedBatch {
    // Elements start at multiples of 8, after their 4-byte count.
    const buffersAt = NODES_AT + 4 + PAIR_BYTES * this.#nodes.length + 4;
    const countsAt = buffersAt + 4 + PAIR_BYTES * this.#buffers.length + 4;
    const metadataBytes = PREFIX_BYTES + countsAt + 4 + 8 * this.#variadicCounts.length;
    const bodyBytes = this.#buffers.reduce((sum, { length }) => sum + padded(length), 0);
    const bytes = Buffer.alloc(metadataBytes + bodyBytes);
    bytes.writeUInt32LE(CONTINUATION);
    bytes.writeUInt32LE(metadataBytes - PREFIX_BYTES, 4);
    const metadata = bytes.subarray(PREFIX_BYTES, metadataBytes);
    metadata.writeUInt32LE(this.#nodes.length, NODES_AT);
    for (const [index, [length, nulls]] of this.#nodes.entries())
      writePair(metadata, pairAt(NODES_AT, index), length, nulls);
    metadata.writeUInt32LE(this.#buffers.length, buffersAt);
    let offset = 0;
    for (const [index, buffer] of this.#buffers.entries()) {
      writePair(metadata, pairAt(buffersAt, index), offset, buffer.length);
      bytes.set(buffer, metadataBytes + offset);
      offset += padded(buffer.length);
    }
    metadata.writeUInt32LE(this.#variadicCounts.length, countsAt);
    for (const [index, count] of this.#variadicCounts.entries()) writeI64(metadata, count, countsAt + 4 + 8 * index);
    writeOffset(metadata, 0, MESSAGE.table);
    writeVtable(metadata, MESSAGE);
    writeOffset(metadata, MESSAGE_FIELD.header, BATCH.table);
    writeI64(metadata, bodyBytes, MESSAGE_FIELD.bodyBytes);
    metadata.writeInt16LE(version, MESSAGE_FIELD.version);
    metadata.writeUInt8(HEADER_KIND.recordBatch, MESSAGE_FIELD.kind);
    writeVtable(metadata, BATCH);
    writeOffset(metadata, BATCH_FIELD.nodes, NODES_AT);
    writeI64(metadata, rows, BATCH_FIELD.rows);
    writeOffset(metadata, BATCH_FIELD.buffers, buffersAt);
    writeOffset(metadata, BATCH_FIELD.variadicCounts, countsAt);
    return { bytes, metadataBytes };
  }
}

function padded(length: number): number {
  return length + (-length & 7);
}

function pairAt(list: number, index: number): number {
  return list + 4 + PAIR_BYTES * index;
}

function writePair(target: Buffer, at: number, first: number, second: number): void {
  writeI64(target, first, at);
  writeI64(target, second, at + 8);
}
