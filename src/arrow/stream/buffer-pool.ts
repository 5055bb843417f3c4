import { MessageChannel } from 'node:worker_threads';
import type { ArrowLimits } from '../../model/limits.ts';

const SMALL_BYTES = 16 * 1024;
/**
 * From this fraction of a full buffer on, a full one is taken: growing step by step would copy everything once more.
 */
const FULL_FROM = 1 / 8;

export interface ChunkMemory {
  /** A buffer of at least this size; a promise if none is free yet. */
  take(bytes: number): Buffer | Promise<Buffer>;
  /** The caller must not use the buffer afterwards. */
  give(buffer: Buffer): void;
  /** For other memory that counts in the same way; returns a promise if none is free yet. */
  reserve(bytes: number): Promise<void> | undefined;
  endReservation(bytes: number): void;
}

type PoolLimits = Pick<ArrowLimits, 'chunkBytes' | 'keptChunksMax'>;

/**
 * Memory for chunks. A short stream needs little; a long one alternates between two full buffers, one being filled
 * while the other is written, to the engine or to disk. Buffers are reused across streams: fresh memory costs as much
 * as copying into it, plus garbage collection.
 */
export class BufferPool implements ChunkMemory {
  readonly #limits: PoolLimits;
  readonly #free: Buffer[] = [];

  constructor(limits: PoolLimits) {
    this.#limits = limits;
  }

  /** The size of the buffer that `take` returns. */
  sizeFor(bytes: number): number {
    const { chunkBytes } = this.#limits;
    if (bytes > chunkBytes) return bytes;
    return bytes > chunkBytes * FULL_FROM ? chunkBytes : Math.min(chunkBytes, Math.max(SMALL_BYTES, bytes));
  }

  /** The buffer is not zeroed. */
  take(bytes: number): Buffer {
    const size = this.sizeFor(bytes);
    const kept = size === this.#limits.chunkBytes ? this.#free.pop() : undefined;
    return kept ?? Buffer.allocUnsafeSlow(size);
  }

  /** Keeps only full buffers. */
  give(buffer: Buffer): void {
    const { chunkBytes, keptChunksMax } = this.#limits;
    if (buffer.length === chunkBytes && this.#free.length < keptChunksMax) this.#free.push(buffer);
    else freeMemory(buffer);
  }

  /** Nothing is counted here. */
  reserve(): undefined {}

  endReservation(): void {}
}

/** Smaller buffers are cheaper to leave to the garbage collector. */
const FREED_BYTES_MIN = 16 * 1024;

/** A buffer transferred to a closed port is dropped at once; `ArrayBuffer.transfer(0)` needs a later Node. */
const { port1: closedPort } = new MessageChannel();
closedPort.close();

/**
 * Frees memory without waiting for the garbage collector, which would run for every 64 MiB received, or, when busy,
 * keep a gigabyte of unused memory. Does not touch shared memory.
 */
export function freeMemory({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < FREED_BYTES_MIN || byteLength !== buffer.byteLength || !(buffer instanceof ArrayBuffer)) return;
  closedPort.postMessage(undefined, [buffer]);
}
