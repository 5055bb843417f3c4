import { once } from '../../model/time/once.ts';
import { createFooter, END_OF_STREAM, FILE_START, footerBytes } from '../format/footer.ts';
import type { Block, SchemaMessage } from '../format/footer.ts';
import type { ChunkMemory } from './buffer-pool.ts';

/** Part of a stream as a complete Arrow IPC file: magic, schema, dictionaries, batches, end of stream, footer. */
export interface ArrowChunk {
  readonly file: Buffer;
  readonly rows: number;
  readonly batches: number;
  /** Absent for a chunk that was read back from disk. */
  readonly layout?: FileLayout;
  /** The top-level columns with nulls in this chunk or an earlier one. */
  readonly nullColumns: ReadonlySet<string>;
  /** Returns the memory to the pool, once. Call it only after the engine has finished with it. */
  release(): void;
}

/** The positions of the messages in a file, so that batches can be copied to another file without being decoded. */
export interface FileLayout {
  readonly schema: SchemaMessage;
  readonly batches: readonly Block[];
  readonly hasDictionaries: boolean;
}

/** An Arrow IPC file under construction, as a sequence of whole messages. */
export class ChunkBuffer {
  #rows = 0;
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
    await chunk.append(FILE_START, FILE_START.length);
    await chunk.append(schema.framed, schema.framed.length);
    return chunk;
  }

  /** The size of the finished file if this many messages, with this total size, were added. */
  fileBytesWith(messages: number, bytes: number): number {
    const blocks = this.#dictionaries.length + this.#batches.length + messages;
    return this.#length + bytes + END_OF_STREAM.length + footerBytes(this.#schema, blocks);
  }

  async appendDictionary(framed: Buffer, body: Buffer): Promise<void> {
    this.#dictionaries.push({ offset: this.#length, metadataBytes: framed.length, bodyBytes: body.length });
    await this.append(framed, framed.length + body.length);
    await this.append(body, body.length);
  }

  /** Starts a batch with its prefix and metadata; its body is appended as it arrives. */
  async beginBatch(framed: Buffer, bodyBytes: number, rows: number): Promise<void> {
    this.#batches.push({ offset: this.#length, metadataBytes: framed.length, bodyBytes });
    this.#rows += rows;
    await this.append(framed, framed.length + bodyBytes);
  }

  /**
   * `comingBytes`, which includes these, are known to arrive: the buffer grows towards that size, but at most doubles.
   * Returns no promise while the buffer is large enough, which is the usual case.
   */
  append(bytes: Uint8Array, comingBytes: number): Promise<void> | undefined {
    if (this.#length + bytes.length > this.#buffer.length) return this.#growAndAppend(bytes, comingBytes);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
    return undefined;
  }

  /** Replaces prefix and metadata of the last batch. */
  completeBatch(framed: Buffer): void {
    this.#buffer.set(framed, this.#batches.at(-1)?.offset);
  }

  /** The last appended bytes. Valid until the next call. */
  tail(bytes: number): Buffer {
    return this.#buffer.subarray(this.#length - bytes, this.#length);
  }

  async finish(nullColumns: ReadonlySet<string>): Promise<ArrowChunk> {
    const [schema, dictionaries, batches] = [this.#schema, this.#dictionaries, this.#batches];
    const footer = createFooter({ schema, dictionaries, batches });
    await this.append(END_OF_STREAM, END_OF_STREAM.length + footer.length);
    await this.append(footer, footer.length);
    const release = once(() => this.abandon());
    const layout = { schema, batches, hasDictionaries: dictionaries.length > 0 };
    return { file: this.tail(this.#length), rows: this.#rows, batches: batches.length, layout, nullColumns, release };
  }

  abandon(): void {
    this.#memory.give(this.#buffer);
  }

  async #growAndAppend(bytes: Uint8Array, comingBytes: number): Promise<void> {
    const wantedBytes = Math.min(2 * this.#buffer.length, this.fileBytesWith(0, comingBytes));
    const grown = await this.#memory.take(Math.max(this.#length + bytes.length, wantedBytes));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#memory.give(this.#buffer);
    this.#buffer = grown;
    await this.append(bytes, bytes.length);
  }
}

/** A chunk whose batches can be copied into a file together with those of others. */
export type JoinableChunk = ArrowChunk & { readonly layout: FileLayout };

/** A file contains each dictionary once, so chunks with dictionaries cannot share one. */
export function isJoinable(chunk: ArrowChunk): chunk is JoinableChunk {
  return chunk.layout !== undefined && !chunk.layout.hasDictionaries && chunk.batches > 0;
}

/** Byte for byte: a batch is only readable with the schema message that it came with. */
export function hasSameSchema(one: JoinableChunk, other: JoinableChunk): boolean {
  return one.layout.schema.framed.equals(other.layout.schema.framed);
}

/** One Arrow IPC file with the batches of all chunks, in order. The chunks have the same schema message. */
export function joinFiles(chunks: readonly [JoinableChunk, ...JoinableChunk[]]): Buffer {
  const { schema } = chunks[0].layout;
  const parts = [FILE_START, schema.framed];
  const batches: Block[] = [];
  let offset = FILE_START.length + schema.framed.length;
  for (const { file, layout } of chunks) {
    for (const block of layout.batches) {
      const bytes = block.metadataBytes + block.bodyBytes;
      parts.push(file.subarray(block.offset, block.offset + bytes));
      batches.push({ ...block, offset });
      offset += bytes;
    }
  }
  return Buffer.concat([...parts, END_OF_STREAM, createFooter({ schema, dictionaries: [], batches })]);
}
