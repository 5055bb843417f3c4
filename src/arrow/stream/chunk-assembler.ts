import { ServiceError } from '../../errors/service-error.ts';
import type { ArrowLimits } from '../../model/limits.ts';
import type { ChunkMemory } from './buffer-pool.ts';
import { ChunkBuffer } from './chunk-buffer.ts';
import type { FileLayout } from './chunk-buffer.ts';
import type { DecodedBudget } from './batch-buffers.ts';
import { messageBytes } from './dictionaries.ts';
import type { Dictionaries, DictionaryMessage } from './dictionaries.ts';
import type { FramedMessage } from './message-reader.ts';
import type { SchemaMessage } from '../format/footer.ts';

/** A piece of a stream, whole in itself. */
export interface ArrowChunk {
  /** A complete Arrow IPC file: magic, schema, dictionaries, batches, end of stream, and a footer of ours. */
  readonly file: Buffer;
  readonly rows: number;
  readonly batches: number;
  /** Absent for a chunk that was read back from disk. */
  readonly layout?: FileLayout;
  /** The top-level columns that hold nulls in this chunk or in one before it. */
  readonly nullColumns: ReadonlySet<string>;
  /** Gives the memory back for reuse. To be called only after the engine has finished with it. */
  release(): void;
}

export interface AssemblerParts {
  readonly limits: ArrowLimits;
  readonly memory: ChunkMemory;
  readonly schema: SchemaMessage;
  readonly dictionaries: Dictionaries;
  readonly budget: DecodedBudget;
}

/** Collects batches into chunks, each with the dictionaries that its batches need. */
export class ChunkAssembler {
  readonly nullColumns = new Set<string>();
  readonly #parts: AssemblerParts;
  #chunk: ChunkBuffer | undefined;
  /** Dictionaries that came after the last batch: the next one takes them into its chunk. */
  #waiting: DictionaryMessage[] = [];
  /** A file has each dictionary once, so a replaced one ends the chunk. */
  #isStale = false;
  #replacements = 0;
  #chunks = 0;
  #lastFileBytes = 0;

  constructor(parts: AssemblerParts) {
    this.#parts = parts;
  }

  addDictionary(message: DictionaryMessage, isReplacement: boolean): void {
    this.#waiting.push(message);
    if (!isReplacement) return;
    this.#replacements += 1;
    this.#isStale = true;
  }

  /** The chunk in hand, when the batch that comes next does not go into it. */
  async takeFull(batchBytes: number): Promise<ArrowChunk | undefined> {
    const chunk = this.#chunk;
    if (chunk === undefined) return undefined;
    let bytes = batchBytes;
    for (const message of this.#waiting) bytes += messageBytes(message);
    const hasRoom = chunk.fileBytesWith(this.#waiting.length + 1, bytes) <= this.#chunkBytesMax();
    return hasRoom && !this.#isStale ? undefined : this.finish();
  }

  /** Starts a batch; its body is appended as it arrives. */
  async beginBatch(message: FramedMessage, rows: number): Promise<ChunkBuffer> {
    const chunk = this.#chunk ?? (await this.#startChunk(message));
    for (const { framed, body } of this.#waiting) await chunk.appendDictionary(framed, body);
    this.#waiting = [];
    await chunk.beginBatch(message.framed, message.header.bodyBytes, rows);
    return chunk;
  }

  /** Without batches the chunk is the schema alone. */
  async finish(): Promise<ArrowChunk> {
    const chunk = (this.#chunk ??= await this.#newChunk());
    const { file, layout, release } = await chunk.finish();
    this.#chunk = undefined;
    this.#lastFileBytes = file.length;
    return { file, rows: chunk.rows, batches: chunk.batches, layout, nullColumns: this.nullColumns, release };
  }

  /** Gives back the memory of what will not be finished. */
  abandon(): void {
    this.#chunk?.abandon();
    this.#chunk = undefined;
  }

  async #startChunk(message: FramedMessage): Promise<ChunkBuffer> {
    const { limits, dictionaries, budget } = this.#parts;
    if (this.#chunks === limits.chunksMax) this.#refuseMore();
    if (this.#chunks > 0) budget.charge(dictionaries.replayBytes(), message.place);
    this.#chunks += 1;
    this.#isStale = false;
    this.#waiting = [...dictionaries.messages()];
    this.#chunk = await this.#newChunk();
    return this.#chunk;
  }

  async #newChunk(): Promise<ChunkBuffer> {
    const { schema, limits, memory } = this.#parts;
    return ChunkBuffer.open(memory, schema, Math.min(this.#lastFileBytes, limits.chunkBytes));
  }

  /** Dictionaries come again with every chunk: where they are large, so are the chunks. */
  #chunkBytesMax(): number {
    return Math.max(this.#parts.limits.chunkBytes, 2 * this.#parts.dictionaries.bytes);
  }

  #refuseMore(): never {
    const { chunksMax } = this.#parts.limits;
    const reason = this.#replacements === 0 ? '' : `, ${this.#replacements} of them because a dictionary was replaced`;
    throw new ServiceError('InvalidInput', `The Arrow stream needs more than ${chunksMax} chunks${reason}.`, {
      hint: 'Send the rows in several requests, with one dictionary for all batches of each.',
    });
  }
}
