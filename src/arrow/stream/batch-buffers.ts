import type { ArrowLimits } from '../../model/limits.ts';
import { formatByteLimit } from '../../model/value-text.ts';
import type { MessageContext } from '../format/flatbuffer.ts';
import { decodeLz4Frame, lz4DecodedBytesMax } from '../format/lz4-frame.ts';
import { PAIR_BYTES } from '../format/message-header.ts';
import type { BatchHeader } from '../format/message-header.ts';

/**
 * Bounds the bytes to which the engine will decode a stream. A few bytes can declare gigabytes: by compression, by rows
 * that take no space, or by many views of one text.
 */
export class DecodedBudget {
  /** For the stream so far, including the current message. */
  receivedBytes = 0;
  readonly #limits: ArrowLimits;
  #decodedBytes = 0;

  constructor(limits: ArrowLimits) {
    this.#limits = limits;
  }

  charge(bytes: number, context: MessageContext): void {
    const { decodedBytesMax, decodedRatioMax, decodedFloorBytes } = this.#limits;
    this.#decodedBytes += bytes;
    if (this.#decodedBytes > decodedBytesMax) {
      const fault = `exceeds the limit of ${formatByteLimit(decodedBytesMax)} of decoded data per stream`;
      context.refuse(fault, 'Send the rows in several requests.');
    }
    const isBloated = this.#decodedBytes > this.receivedBytes * decodedRatioMax;
    if (isBloated && this.#decodedBytes > decodedFloorBytes) {
      const fault = `exceeds the limit of ${decodedRatioMax} decoded bytes per received byte`;
      context.refuse(fault, 'Send the rows with less compression, or in several requests.');
    }
  }
}

export interface FieldNode {
  readonly length: number;
  readonly nullCount: number;
}

/** One buffer of a body, and its length once the engine has decoded it. */
export interface BodyBuffer {
  readonly stored: Buffer;
  readonly isCompressed: boolean;
  readonly decodedBytes: number;
}

/** A compressed buffer starts with its decoded length; −1 means that it is not compressed after all. */
const LENGTH_PREFIX_BYTES = 8;

/**
 * A decoder grows its output with the frame, whatever the prefix says, and fails only at the end. Writers fill every
 * block except the last, so a frame can exceed its prefix by only a few blocks of the largest size.
 */
const LZ4_SLACK_BYTES = 16 * 1024 * 1024;

/** Views and JSON text are decoded here, which costs memory and time if they are compressed. */
const INSPECTED_BYTES_MAX = 256 * 1024 * 1024;

/** Walks the lists of a batch in column order. */
export class BatchBuffers {
  readonly header: BatchHeader;
  /** Of the buffers walked so far. */
  decodedBytes = 0;
  /** Whether the metadata differs from what arrived. */
  isCompleted = false;
  readonly #body: Buffer;
  readonly #budget: DecodedBudget | undefined;
  #nodesRead = 0;
  #buffersRead = 0;
  #countsRead = 0;

  /** Batches of the engine have no budget. */
  constructor(header: BatchHeader, body: Buffer, budget?: DecodedBudget) {
    this.header = header;
    this.#body = body;
    this.#budget = budget;
  }

  nextNode(): FieldNode {
    const { flatbuffer, nodes } = this.header;
    if (this.#nodesRead >= nodes.count) flatbuffer.refuse('describes fewer columns than the schema has');
    const at = nodes.start + PAIR_BYTES * this.#nodesRead;
    this.#nodesRead += 1;
    const length = flatbuffer.i64(at);
    const nullCount = flatbuffer.i64(at + 8);
    if (length < 0 || nullCount < 0 || nullCount > length) {
      flatbuffer.refuse(`describes a column of ${length} rows with ${nullCount} nulls`);
    }
    return { length, nullCount };
  }

  nextBuffer(): BodyBuffer {
    const { flatbuffer, buffers, bodyBytes, codec } = this.header;
    if (this.#buffersRead >= buffers.count) flatbuffer.refuse('lists fewer buffers than its columns need');
    const at = buffers.start + PAIR_BYTES * this.#buffersRead;
    this.#buffersRead += 1;
    const offset = flatbuffer.i64(at);
    const length = flatbuffer.i64(at + 8);
    if (offset < 0 || length < 0 || offset + length > bodyBytes) {
      flatbuffer.refuse(`has a buffer of ${length} bytes at ${offset} in a body of ${bodyBytes}`);
    }
    if (length > 0 && offset % 8 !== 0) {
      flatbuffer.refuse(`has a buffer at ${offset}`, 'Buffers start at multiples of 8 bytes.');
    }
    const stored = this.#body.subarray(offset, offset + length);
    const buffer = codec === 'none' || length === 0 ? plain(stored) : this.#readPrefix(stored);
    this.charge(buffer.decodedBytes);
    return buffer;
  }

  /** Changes the metadata so that the last buffer, which is empty, shares the bytes of the previous one. */
  shareBytesOfPrevious(): BodyBuffer {
    const { flatbuffer, buffers } = this.header;
    const last = buffers.start + PAIR_BYTES * (this.#buffersRead - 1);
    flatbuffer.bytes.copyWithin(last, last - PAIR_BYTES, last);
    this.isCompleted = true;
    this.#buffersRead -= 1;
    return this.nextBuffer();
  }

  /** How many data buffers the next view column has. */
  nextVariadicCount(): number {
    const { flatbuffer, variadicCounts, buffers } = this.header;
    if (this.#countsRead >= variadicCounts.count) flatbuffer.refuse('has no buffer count for a view column');
    const count = flatbuffer.i64(variadicCounts.start + 8 * this.#countsRead);
    this.#countsRead += 1;
    if (count < 0 || count > buffers.count) flatbuffer.refuse(`has ${count} buffers for a view column`);
    return count;
  }

  charge(decodedBytes: number): void {
    this.decodedBytes += decodedBytes;
    this.#budget?.charge(decodedBytes, this.header.flatbuffer.context);
  }

  /** The first decoded bytes of a buffer, or `undefined` for ZSTD, which is not decoded here. */
  content(buffer: BodyBuffer, bytes: number): Buffer | undefined {
    if (!buffer.isCompressed) return buffer.stored.subarray(0, bytes);
    const { codec, flatbuffer } = this.header;
    if (codec !== 'lz4') return undefined;
    if (bytes > INSPECTED_BYTES_MAX) {
      const fault = `has a compressed buffer of ${bytes} bytes, which is too large to check`;
      flatbuffer.refuse(fault, 'Send smaller batches, or the column without compression.');
    }
    const decoded = Buffer.alloc(bytes);
    if (decodeLz4Frame(buffer.stored, decoded)) return decoded;
    return flatbuffer.refuse('has a compressed buffer that cannot be decoded');
  }

  /** Refuses leftover entries, which a less careful reader would assign to the next column. */
  requireEnd(): void {
    const { flatbuffer, nodes, buffers, variadicCounts } = this.header;
    if (this.#nodesRead !== nodes.count) flatbuffer.refuse('describes more columns than the schema has');
    if (this.#buffersRead !== buffers.count) flatbuffer.refuse('lists more buffers than its columns need');
    if (this.#countsRead !== variadicCounts.count) {
      flatbuffer.refuse('has buffer counts for more view columns than the schema has');
    }
  }

  #readPrefix(stored: Buffer): BodyBuffer {
    const { flatbuffer, codec } = this.header;
    if (stored.length < LENGTH_PREFIX_BYTES) flatbuffer.refuse('has a compressed buffer without its length');
    const decodedBytes = Number(stored.readBigInt64LE(0));
    const content = stored.subarray(LENGTH_PREFIX_BYTES);
    if (decodedBytes === -1) return plain(content);
    if (decodedBytes < 0) flatbuffer.refuse(`has a compressed buffer of ${decodedBytes} bytes`);
    if (codec === 'lz4' && decodedBytes > 0) {
      const bytesMax =
        lz4DecodedBytesMax(content) ?? flatbuffer.refuse('has a compressed buffer that is not an LZ4 frame');
      if (bytesMax > decodedBytes + LZ4_SLACK_BYTES) {
        flatbuffer.refuse(`has an LZ4 frame that may decode to ${bytesMax} bytes but declares ${decodedBytes}`);
      }
    }
    return { stored: content, isCompressed: true, decodedBytes };
  }
}

function plain(stored: Buffer): BodyBuffer {
  return { stored, isCompressed: false, decodedBytes: stored.length };
}
