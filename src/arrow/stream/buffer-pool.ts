import { MessageChannel } from 'node:worker_threads';

const SMALL_BYTES = 16 * 1024;
/** From this part of a full buffer on a whole one is taken: growing by and by would copy all of it once more. */
const FULL_FROM = 1 / 8;

/** Where chunks get their memory. */
export interface ChunkMemory {
  /** A buffer of at least so many bytes; a promise when one has to wait for it. */
  take(bytes: number): Buffer | Promise<Buffer>;
  /** Nobody may look at it any more. */
  give(buffer: Buffer): void;
}

export interface BufferPoolOptions {
  /** The size of a full buffer: only those are kept. */
  readonly chunkBytes: number;
  readonly keptMax: number;
}

/**
 * Memory for chunks. A short stream takes little; a long one has two buffers of full size in turn, one being filled while
 * the engine reads the other. Streams that come later take over what earlier ones gave back: fresh memory costs as much as
 * the copying into it, and makes the garbage collector look through everything.
 */
export class BufferPool implements ChunkMemory {
  readonly #options: BufferPoolOptions;
  readonly #free: Buffer[] = [];

  constructor(options: BufferPoolOptions) {
    this.#options = options;
  }

  /** The size of the buffer that one gets who asks for so many bytes. */
  sizeFor(bytes: number): number {
    const { chunkBytes } = this.#options;
    if (bytes > chunkBytes) return bytes;
    return bytes > chunkBytes * FULL_FROM ? chunkBytes : Math.min(chunkBytes, Math.max(SMALL_BYTES, bytes));
  }

  /** What it holds is left over from before. */
  take(bytes: number): Buffer {
    const size = this.sizeFor(bytes);
    const kept = size === this.#options.chunkBytes ? this.#free.pop() : undefined;
    return kept ?? Buffer.allocUnsafeSlow(size);
  }

  give(buffer: Buffer): void {
    const { chunkBytes, keptMax } = this.#options;
    if (buffer.length === chunkBytes && this.#free.length < keptMax) this.#free.push(buffer);
    else freeMemory(buffer);
  }
}

/** Below this the collector's own way is cheaper. */
const BYTES_MIN = 16 * 1024;

/** Nobody listens: what is handed over is dropped at once. Later versions of JavaScript could do without, by `transfer(0)`. */
const nowhere = openClosedPort();

/**
 * Frees memory without waiting for the garbage collector. By itself it would look through everything once for every 64 MiB
 * received, or, when it has no time, let a gigabyte of what is no longer needed lie. Memory that others share is left alone.
 */
export function freeMemory({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < BYTES_MIN || byteLength !== buffer.byteLength || !(buffer instanceof ArrayBuffer)) return;
  nowhere.postMessage(undefined, [buffer]);
}

function openClosedPort(): MessageChannel['port1'] {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}
