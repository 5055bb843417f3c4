const SMALL_BYTES = 16 * 1024;
/** From this part of a full buffer on a whole one is taken: growing by and by would copy all of it once more. */
const FULL_FROM = 1 / 8;

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
export class BufferPool {
  readonly #options: BufferPoolOptions;
  readonly #free: Buffer[] = [];

  constructor(options: BufferPoolOptions) {
    this.#options = options;
  }

  /** A buffer of at least `bytes`. What it holds is left over from before. */
  take(bytes: number): Buffer {
    const { chunkBytes } = this.#options;
    if (bytes > chunkBytes) return Buffer.allocUnsafeSlow(bytes);
    if (bytes > chunkBytes * FULL_FROM) return this.#free.pop() ?? Buffer.allocUnsafeSlow(chunkBytes);
    return Buffer.allocUnsafeSlow(Math.min(chunkBytes, Math.max(SMALL_BYTES, bytes)));
  }

  give(buffer: Buffer): void {
    const { chunkBytes, keptMax } = this.#options;
    if (buffer.length === chunkBytes && this.#free.length < keptMax) this.#free.push(buffer);
  }
}
