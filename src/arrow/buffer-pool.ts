const POOLED_MAX = 2;
const SMALL_BYTES = 16 * 1024;

/**
 * Memory for the chunks of one stream. A short stream takes little; a long one has two buffers of full size in turn, one
 * being filled while the engine reads the other.
 */
export class BufferPool {
  readonly #chunkBytes: number;
  readonly #free: Buffer[] = [];

  constructor(chunkBytes: number) {
    this.#chunkBytes = chunkBytes;
  }

  /** A buffer of at least `bytes`, and not far above it. What it holds is left over from before. */
  take(bytes: number): Buffer {
    if (bytes > this.#chunkBytes) return Buffer.allocUnsafeSlow(bytes);
    if (bytes > this.#chunkBytes / 2) return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#chunkBytes);
    return Buffer.allocUnsafeSlow(Math.min(this.#chunkBytes, Math.max(SMALL_BYTES, bytes)));
  }

  give(buffer: Buffer): void {
    if (buffer.length === this.#chunkBytes && this.#free.length < POOLED_MAX) this.#free.push(buffer);
  }
}
