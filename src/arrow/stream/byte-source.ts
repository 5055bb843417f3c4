import { ServiceError } from '../../errors/service-error.ts';
import { formatByteLimit } from '../../model/value-text.ts';

/** Bytes that arrive in pieces of any size, and are read in amounts that the reader chooses. */
export class ByteSource {
  offset = 0;
  readonly #iterator: AsyncIterator<Uint8Array>;
  readonly #bytesMax: number;
  /** Bytes that have arrived but were not taken yet. */
  #piece: Buffer = Buffer.alloc(0);
  #receivedBytes = 0;

  constructor(source: AsyncIterable<Uint8Array>, bytesMax: number) {
    this.#iterator = source[Symbol.asyncIterator]();
    this.#bytesMax = bytesMax;
  }

  /** At least one byte and at most `bytesMax`, or `undefined` at the end. */
  async take(bytesMax: number): Promise<Buffer | undefined> {
    if (this.#piece.length === 0 && !(await this.#receive())) return undefined;
    const taken = this.#piece.subarray(0, bytesMax);
    this.#advance(taken.length);
    return taken;
  }

  /** Fills `target` from `start` on; returns whether there were enough bytes. */
  async fill(target: Buffer, start = 0): Promise<boolean> {
    for (let at = start; at < target.length;) {
      if (this.#piece.length === 0 && !(await this.#receive())) return false;
      const copied = this.#piece.copy(target, at);
      this.#advance(copied);
      at += copied;
    }
    return true;
  }

  /** Ends the source early. A failure to close must not hide the original error. */
  async close(): Promise<void> {
    await this.#iterator.return?.().catch(() => undefined);
  }

  #advance(bytes: number): void {
    this.#piece = this.#piece.subarray(bytes);
    this.offset += bytes;
  }

  async #receive(): Promise<boolean> {
    for (;;) {
      const { done, value } = await this.#iterator.next();
      if (done === true) return false;
      this.#receivedBytes += value.length;
      if (this.#receivedBytes > this.#bytesMax) {
        throw new ServiceError(
          'PayloadTooLarge',
          `The Arrow stream is larger than ${formatByteLimit(this.#bytesMax)}.`,
          {
            hint: 'Send the rows in several requests.',
          },
        );
      }
      this.#piece = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      if (value.length > 0) return true;
    }
  }
}
