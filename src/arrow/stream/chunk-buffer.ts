import type { ChunkMemory } from './buffer-pool.ts';
import type { Block, SchemaMessage } from '../format/footer.ts';
import { FILE_MAGIC, footerBytes, writeFooter } from '../format/footer.ts';

export const HEAD_BYTES = 8;
export const END_OF_STREAM = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);

/** Where the messages of a file stand, so that its batches can be copied into another without being decoded. */
export interface FileLayout {
  readonly schema: SchemaMessage;
  readonly batches: readonly Block[];
  readonly hasDictionaries: boolean;
}

export interface FinishedFile {
  readonly file: Buffer;
  readonly layout: FileLayout;
  readonly release: () => void;
}

/** One Arrow IPC file in the making: whole messages one behind the other, and at last the footer, in place. */
export class ChunkBuffer {
  rows = 0;
  readonly #memory: ChunkMemory;
  readonly #schema: SchemaMessage;
  readonly #dictionaries: Block[] = [];
  readonly #batches: Block[] = [];
  #buffer: Buffer;
  #length = 0;

  private constructor(memory: ChunkMemory, schema: SchemaMessage, buffer: Buffer) {
    this.#memory = memory;
    this.#schema = schema;
    this.#buffer = buffer;
  }

  static async open(memory: ChunkMemory, schema: SchemaMessage, expectedBytes: number): Promise<ChunkBuffer> {
    const chunk = new ChunkBuffer(memory, schema, await memory.take(expectedBytes));
    const head = Buffer.alloc(HEAD_BYTES);
    head.set(FILE_MAGIC);
    await chunk.append(head, HEAD_BYTES);
    await chunk.append(schema.framed, schema.framed.length);
    return chunk;
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

  async appendDictionary(framed: Buffer, body: Buffer): Promise<void> {
    this.#dictionaries.push({ offset: this.#length, metadataBytes: framed.length, bodyBytes: body.length });
    await this.append(framed, framed.length + body.length);
    await this.append(body, body.length);
  }

  /** Starts a batch with its prefix and metadata; its body is appended as it arrives. */
  async beginBatch(framed: Buffer, bodyBytes: number, rows: number): Promise<void> {
    this.#batches.push({ offset: this.#length, metadataBytes: framed.length, bodyBytes });
    this.rows += rows;
    await this.append(framed, framed.length + bodyBytes);
  }

  /**
   * `comingBytes`, these included, are known to come: room grows towards them, but not before half of it is used. Without a
   * promise while there is room.
   */
  append(bytes: Uint8Array, comingBytes: number): Promise<void> | undefined {
    if (this.#length + bytes.length > this.#buffer.length) return this.#growAndAppend(bytes, comingBytes);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
    return undefined;
  }

  /** The last bytes appended. Valid until the next call. */
  tail(bytes: number): Buffer {
    return this.#buffer.subarray(this.#length - bytes, this.#length);
  }

  /** The finished file, and a function that gives its memory back. */
  async finish(): Promise<FinishedFile> {
    const bytes = footerBytes(this.#schema.metadata.length, this.#dictionaries.length + this.#batches.length);
    await this.append(END_OF_STREAM, END_OF_STREAM.length + bytes);
    if (this.#length + bytes > this.#buffer.length) await this.#grow(bytes, bytes);
    const footer = this.#buffer.subarray(this.#length, this.#length + bytes);
    writeFooter(footer, { schema: this.#schema, dictionaries: this.#dictionaries, batches: this.#batches });
    const buffer = this.#buffer;
    let isOut = true;
    const release = (): void => {
      if (isOut) this.#memory.give(buffer);
      isOut = false;
    };
    const layout = {
      schema: this.#schema,
      batches: this.#batches,
      hasDictionaries: this.#dictionaries.length > 0,
    };
    return { file: buffer.subarray(0, this.#length + bytes), layout, release };
  }

  /** Gives the memory of a file back that will not be finished. */
  abandon(): void {
    this.#memory.give(this.#buffer);
  }

  async #growAndAppend(bytes: Uint8Array, comingBytes: number): Promise<void> {
    await this.#grow(bytes.length, comingBytes);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  async #grow(bytes: number, comingBytes: number): Promise<void> {
    const wantedBytes = Math.min(2 * this.#buffer.length, this.fileBytesWith(0, comingBytes));
    const grown = await this.#memory.take(Math.max(this.#length + bytes, wantedBytes));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#memory.give(this.#buffer);
    this.#buffer = grown;
  }
}
