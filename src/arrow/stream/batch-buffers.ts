import type { BatchHeader } from '../format/message-header.ts';
import { PAIR_BYTES } from '../format/message-header.ts';
import { decodeLz4Frame, lz4DecodedBytesMax } from '../format/lz4-frame.ts';
import type { ArrowLimits } from '../../model/limits.ts';
import type { MessageContext } from '../format/flatbuffer.ts';

export interface FieldNode {
  readonly length: number;
  readonly nullCount: number;
}

/** One buffer of a body: where it stands, and how long it will be for the engine. */
export interface BodyBuffer {
  readonly stored: Buffer;
  readonly isCompressed: boolean;
  readonly decodedBytes: number;
}

/** Before a compressed buffer stands the length of what it decodes to; −1 says that it is not compressed after all. */
const LENGTH_PREFIX_BYTES = 8;

/**
 * A decoder grows its output with the frame, whatever the prefix says, and complains only when it is done. Writers fill
 * every block but the last, so a frame can be held to its prefix up to a few blocks of the largest size.
 */
const LZ4_SLACK_BYTES = 16 * 1024 * 1024;

/** Views and JSON text are looked into, which takes memory and time of ours when they are compressed. */
const INSPECTED_BYTES_MAX = 256 * 1024 * 1024;

/** Walks the lists of a batch in the order of its columns. */
export class BatchBuffers {
  readonly header: BatchHeader;
  /** What the engine will make of the buffers walked so far. */
  decodedBytes = 0;
  readonly #body: Buffer;
  readonly #budget: DecodedBudget;
  #nodesRead = 0;
  #buffersRead = 0;
  #countsRead = 0;

  constructor(header: BatchHeader, body: Buffer, budget: DecodedBudget) {
    this.header = header;
    this.#body = body;
    this.#budget = budget;
  }

  nextNode(): FieldNode {
    const { flatbuffer, nodes } = this.header;
    if (this.#nodesRead >= nodes.count) flatbuffer.place.refuse('describes fewer columns than the schema has');
    const at = nodes.start + PAIR_BYTES * this.#nodesRead;
    this.#nodesRead += 1;
    const length = flatbuffer.i64(at);
    const nullCount = flatbuffer.i64(at + 8);
    if (length < 0 || nullCount < 0 || nullCount > length) {
      flatbuffer.place.refuse(`describes a column of ${length} rows with ${nullCount} nulls`);
    }
    return { length, nullCount };
  }

  nextBuffer(): BodyBuffer {
    const { flatbuffer, buffers, bodyBytes, codec } = this.header;
    if (this.#buffersRead >= buffers.count) flatbuffer.place.refuse('lists fewer buffers than its columns need');
    const at = buffers.start + PAIR_BYTES * this.#buffersRead;
    this.#buffersRead += 1;
    const offset = flatbuffer.i64(at);
    const length = flatbuffer.i64(at + 8);
    if (offset < 0 || length < 0 || offset + length > bodyBytes) {
      flatbuffer.place.refuse(`has a buffer of ${length} bytes at ${offset} in a body of ${bodyBytes}`);
    }
    if (length > 0 && offset % 8 !== 0) {
      flatbuffer.place.refuse(`has a buffer at ${offset}`, 'Buffers start at multiples of 8 bytes.');
    }
    const stored = this.#body.subarray(offset, offset + length);
    const buffer = codec === 'none' || length === 0 ? plain(stored) : this.#readPrefix(stored);
    this.charge(buffer.decodedBytes);
    return buffer;
  }

  /** How many data buffers the next column of views has. */
  nextVariadicCount(): number {
    const { flatbuffer, variadicCounts, buffers } = this.header;
    if (this.#countsRead >= variadicCounts.count) flatbuffer.place.refuse('gives no buffer count for a view column');
    const count = flatbuffer.i64(variadicCounts.start + 8 * this.#countsRead);
    this.#countsRead += 1;
    if (count < 0 || count > buffers.count) flatbuffer.place.refuse(`gives a view column ${count} buffers`);
    return count;
  }

  charge(decodedBytes: number): void {
    this.decodedBytes += decodedBytes;
    this.#budget.charge(decodedBytes, this.header.flatbuffer.place);
  }

  /** The first bytes of a buffer as the engine will see them, or `undefined` when they cannot be had here. */
  content(buffer: BodyBuffer, bytes: number): Buffer | undefined {
    if (!buffer.isCompressed) return buffer.stored.subarray(0, bytes);
    if (this.header.codec !== 'lz4') return undefined;
    if (bytes > INSPECTED_BYTES_MAX) {
      const hint = 'Send smaller batches, or the column without compression.';
      this.header.flatbuffer.place.refuse(
        `has ${bytes} compressed bytes in one buffer that has to be looked into`,
        hint,
      );
    }
    const decoded = Buffer.alloc(bytes);
    if (decodeLz4Frame(buffer.stored, decoded)) return decoded;
    return this.header.flatbuffer.place.refuse('has a compressed buffer that does not decode');
  }

  /** Left-over entries would be read as the next column's by a less careful reader. */
  requireEnd(): void {
    const { flatbuffer, nodes, buffers, variadicCounts } = this.header;
    if (this.#nodesRead !== nodes.count) flatbuffer.place.refuse('describes more columns than the schema has');
    if (this.#buffersRead !== buffers.count) flatbuffer.place.refuse('lists more buffers than its columns need');
    if (this.#countsRead !== variadicCounts.count) {
      flatbuffer.place.refuse('gives buffer counts for more view columns than the schema has');
    }
  }

  #readPrefix(stored: Buffer): BodyBuffer {
    const { place } = this.header.flatbuffer;
    if (stored.length < LENGTH_PREFIX_BYTES) place.refuse('has a compressed buffer without its length');
    const decodedBytes = Number(stored.readBigInt64LE(0));
    const content = stored.subarray(LENGTH_PREFIX_BYTES);
    if (decodedBytes === -1) return plain(content);
    if (decodedBytes < 0) place.refuse(`has a compressed buffer of ${decodedBytes} bytes`);
    if (this.header.codec === 'lz4' && decodedBytes > 0) this.#checkFrame(content, decodedBytes);
    return { stored: content, isCompressed: true, decodedBytes };
  }

  #checkFrame(frame: Buffer, decodedBytes: number): void {
    const { place } = this.header.flatbuffer;
    const bytesMax = lz4DecodedBytesMax(frame);
    if (bytesMax === undefined) return place.refuse('has a compressed buffer that is not an LZ4 frame');
    if (bytesMax > decodedBytes + LZ4_SLACK_BYTES) {
      place.refuse(`has an LZ4 frame that may decode to ${bytesMax} bytes where ${decodedBytes} are declared`);
    }
  }
}

function plain(stored: Buffer): BodyBuffer {
  return { stored, isCompressed: false, decodedBytes: stored.length };
}

/**
 * How many bytes the engine will have to make out of a stream. A few bytes can declare gigabytes: by compression, by
 * rows that take no room, by views of one text many times over.
 */
export class DecodedBudget {
  /** Of the stream so far, the message in hand included. */
  receivedBytes = 0;
  readonly #limits: ArrowLimits;
  #decodedBytes = 0;

  constructor(limits: ArrowLimits) {
    this.#limits = limits;
  }

  charge(bytes: number, place: MessageContext): void {
    const { decodedBytesMax, decodedRatioMax, decodedFloorBytes } = this.#limits;
    this.#decodedBytes += bytes;
    if (this.#decodedBytes > decodedBytesMax) {
      place.refuse(
        `brings the stream to more than ${decodedBytesMax} bytes of decoded data`,
        'Send the rows in several requests.',
      );
    }
    const isBloated = this.#decodedBytes > this.receivedBytes * decodedRatioMax;
    if (isBloated && this.#decodedBytes > decodedFloorBytes) {
      place.refuse(
        `brings the stream to more than ${decodedRatioMax} times as much decoded data as was received`,
        'Send the rows with less compression, or in several requests.',
      );
    }
  }
}
