import { writeOffset, writeVtable } from './flatbuffer.ts';
import { CONTINUATION, HEADER_KIND, PAIR_BYTES, PREFIX_BYTES } from './message-header.ts';

/** Fixed positions in the metadata of a record batch: the tables of the message and of the batch, then its lists. */
const MESSAGE = { vtable: 4, table: 16, entries: [12, 20, 16, 18, 4, 8] } as const;
const MESSAGE_FIELD = { header: 20, bodyBytes: 24, version: 32, kind: 34 } as const;
const BATCH = { vtable: 36, table: 52, entries: [14, 24, 4, 12, 16, 0, 20] } as const;
const BATCH_FIELD = { rows: 56, nodes: 64, buffers: 68, variadicCounts: 72 } as const;
const NODES_AT = 76;

export interface FramedBatch {
  /** Prefix, metadata and body. */
  readonly bytes: Buffer;
  /** Prefix included. */
  readonly metadataBytes: number;
}

/** Collects the columns of a record batch in the order of the format: a node for each column, then its buffers. */
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

  /** How many of the buffers hold the data of a column of views. */
  addVariadicCount(count: number): void {
    this.#variadicCounts.push(count);
  }

  toMessage(rows: number, version: number): FramedBatch {
    // Elements start at multiples of 8, behind their count of 4 bytes.
    const buffersAt = NODES_AT + 4 + PAIR_BYTES * this.#nodes.length + 4;
    const countsAt = buffersAt + 4 + PAIR_BYTES * this.#buffers.length + 4;
    const metadata = Buffer.alloc(countsAt + 4 + 8 * this.#variadicCounts.length);
    let bodyBytes = 0;
    const body: Buffer[] = [];
    metadata.writeUInt32LE(this.#nodes.length, NODES_AT);
    for (const [index, pair] of this.#nodes.entries()) writePair(metadata, NODES_AT, index, pair);
    metadata.writeUInt32LE(this.#buffers.length, buffersAt);
    for (const [index, buffer] of this.#buffers.entries()) {
      const padding = -buffer.length & 7;
      writePair(metadata, buffersAt, index, [bodyBytes, buffer.length]);
      body.push(buffer, Buffer.alloc(padding));
      bodyBytes += buffer.length + padding;
    }
    metadata.writeUInt32LE(this.#variadicCounts.length, countsAt);
    for (const [index, count] of this.#variadicCounts.entries()) {
      metadata.writeBigInt64LE(BigInt(count), countsAt + 4 + 8 * index);
    }
    writeOffset(metadata, 0, MESSAGE.table);
    writeVtable(metadata, MESSAGE);
    writeOffset(metadata, MESSAGE_FIELD.header, BATCH.table);
    metadata.writeBigInt64LE(BigInt(bodyBytes), MESSAGE_FIELD.bodyBytes);
    metadata.writeInt16LE(version, MESSAGE_FIELD.version);
    metadata.writeUInt8(HEADER_KIND.recordBatch, MESSAGE_FIELD.kind);
    writeVtable(metadata, BATCH);
    writeOffset(metadata, BATCH_FIELD.nodes, NODES_AT);
    metadata.writeBigInt64LE(BigInt(rows), BATCH_FIELD.rows);
    writeOffset(metadata, BATCH_FIELD.buffers, buffersAt);
    writeOffset(metadata, BATCH_FIELD.variadicCounts, countsAt);
    const prefix = Buffer.alloc(PREFIX_BYTES);
    prefix.writeUInt32LE(CONTINUATION);
    prefix.writeUInt32LE(metadata.length, 4);
    return { bytes: Buffer.concat([prefix, metadata, ...body]), metadataBytes: prefix.length + metadata.length };
  }
}

function writePair(target: Buffer, list: number, index: number, [first, second]: readonly [number, number]): void {
  const at = list + 4 + PAIR_BYTES * index;
  target.writeBigInt64LE(BigInt(first), at);
  target.writeBigInt64LE(BigInt(second), at + 8);
}
