import type { BufferPool } from './buffer-pool.ts';
import type { Block } from './footer.ts';
import { FILE_MAGIC, footerBytes, writeFooter } from './footer.ts';
import type { SchemaMessage } from './schema-message.ts';

const HEAD_BYTES = 8;
const END_OF_STREAM = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);

/** One Arrow IPC file in the making: whole messages one behind the other, and at last the footer, in place. */
export class ChunkBuffer {
  rows = 0;
  readonly #pool: BufferPool;
  readonly #schema: SchemaMessage;
  readonly #dictionaries: Block[] = [];
  readonly #batches: Block[] = [];
  #buffer: Buffer;
  #length = 0;

  constructor(pool: BufferPool, schema: SchemaMessage, expectedBytes: number) {
    this.#pool = pool;
    this.#schema = schema;
    this.#buffer = pool.take(expectedBytes);
    const head = Buffer.alloc(HEAD_BYTES);
    head.set(FILE_MAGIC);
    this.append(head, HEAD_BYTES);
    this.append(schema.framed, schema.framed.length);
  }

  get batches(): number {
    return this.#batches.length;
  }

  /** The size of the file if it got this many more messages, of this many bytes together, and then ended. */
  fileBytesWith(messages: number, bytes: number): number {
    const blocks = this.#dictionaries.length + this.#batches.length + messages;
    const tailBytes = END_OF_STREAM.length + footerBytes(this.#schema.metadata.length, blocks);
    return this.#length + bytes + tailBytes;
  }

  appendDictionary(framed: Buffer, body: Buffer): void {
    this.#dictionaries.push({ offset: this.#length, metadataBytes: framed.length, bodyBytes: body.length });
    this.append(framed, framed.length + body.length);
    this.append(body, body.length);
  }

  /** Starts a batch with its prefix and metadata; its body is appended as it arrives. */
  beginBatch(framed: Buffer, bodyBytes: number, rows: number): void {
    this.#batches.push({ offset: this.#length, metadataBytes: framed.length, bodyBytes });
    this.rows += rows;
    this.append(framed, framed.length + bodyBytes);
  }

  /** `comingBytes`, these included, are known to come: room grows towards them, but not before half of it is used. */
  append(bytes: Uint8Array, comingBytes: number): void {
    this.#reserve(bytes.length, comingBytes);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** The last bytes appended. Valid until the next call. */
  tail(bytes: number): Buffer {
    return this.#buffer.subarray(this.#length - bytes, this.#length);
  }

  /** The finished file, and a function that gives its memory back. */
  finish(): { file: Buffer; release: () => void } {
    this.append(END_OF_STREAM, END_OF_STREAM.length);
    const bytes = footerBytes(this.#schema.metadata.length, this.#dictionaries.length + this.#batches.length);
    this.#reserve(bytes, bytes);
    const footer = this.#buffer.subarray(this.#length, this.#length + bytes);
    writeFooter(footer, { schema: this.#schema, dictionaries: this.#dictionaries, batches: this.#batches });
    const buffer = this.#buffer;
    let isOut = true;
    const release = (): void => {
      if (isOut) this.#pool.give(buffer);
      isOut = false;
    };
    return { file: buffer.subarray(0, this.#length + bytes), release };
  }

  #reserve(bytes: number, comingBytes: number): void {
    const neededBytes = this.#length + bytes;
    if (neededBytes <= this.#buffer.length) return;
    const wantedBytes = Math.min(2 * this.#buffer.length, this.fileBytesWith(0, comingBytes));
    const grown = this.#pool.take(Math.max(neededBytes, wantedBytes));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#pool.give(this.#buffer);
    this.#buffer = grown;
  }
}
