import type { IncomingMessage } from 'node:http';
import type { BufferPool, ChunkMemory } from '../../arrow/stream/buffer-pool.ts';
import { FREE_BYTES, takeUnlessGone } from '../request/body.ts';
import type { MemoryLease } from './memory-budget.ts';

export interface PaidMemoryParts {
  readonly pool: BufferPool;
  readonly account: MemoryLease;
  /** The body that the memory is for. */
  readonly message: IncomingMessage;
}

/** Memory for the chunks of one body: each buffer is paid for as long as it is out, by its size and not by what is in it. */
export class LeasedMemory implements ChunkMemory {
  readonly #parts: PaidMemoryParts;

  constructor(parts: PaidMemoryParts) {
    this.#parts = parts;
  }

  async take(bytes: number): Promise<Buffer> {
    const { pool, account, message } = this.#parts;
    const size = pool.sizeFor(bytes);
    if (size > FREE_BYTES) await takeUnlessGone(message, account, size);
    return pool.take(bytes);
  }

  give(buffer: Buffer): void {
    const { pool, account } = this.#parts;
    const size = buffer.length;
    pool.give(buffer);
    if (size > FREE_BYTES) account.give(size);
  }
}
