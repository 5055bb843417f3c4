import { invalidInput } from '../../errors/service-error.ts';
import type { ArrowLimits } from '../../model/limits.ts';
import { formatCount } from '../../model/value-text.ts';
import type { MessageContext } from '../format/flatbuffer.ts';
import type { SchemaMessage } from '../format/footer.ts';
import type { DecodedBudget } from './batch-buffers.ts';
import type { ChunkMemory } from './buffer-pool.ts';
import { ChunkBuffer } from './chunk-buffer.ts';
import type { ArrowChunk } from './chunk-buffer.ts';
import { messageBytes } from './dictionaries.ts';
import type { Dictionaries, DictionaryMessage } from './dictionaries.ts';
import type { FramedMessage } from './message-reader.ts';

interface AssemblerParts {
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
  /** Dictionaries received since the last batch; the next batch adds them to its chunk. */
  #waiting: DictionaryMessage[] = [];
  /** A file contains each dictionary once, so a replaced one ends the chunk. */
  #isStale = false;
  #replacements = 0;
  #chunks = 0;
  #lastFileBytes = 0;

  constructor(parts: AssemblerParts) {
    this.#parts = parts;
  }

  /** Returns the messages that are no longer needed: earlier batches have copies in their chunk. */
  addDictionary(message: DictionaryMessage, context: MessageContext): readonly DictionaryMessage[] {
    const replaced = this.#parts.dictionaries.add(message, context);
    if (replaced.length > 0) {
      this.#replacements += 1;
      this.#isStale = true;
    }
    // The next chunk begins with all current dictionaries.
    if (this.#isStale) this.#waiting = [];
    else this.#waiting.push(message);
    return replaced;
  }

  /** The current chunk, if the next batch does not fit into it. */
  async takeFull(batchBytes: number): Promise<ArrowChunk | undefined> {
    const chunk = this.#chunk;
    if (chunk === undefined) return undefined;
    // Every chunk repeats the dictionaries, so large dictionaries require large chunks.
    const bytesMax = Math.max(this.#parts.limits.chunkBytes, 2 * this.#parts.dictionaries.bytes);
    let bytes = batchBytes;
    for (const message of this.#waiting) bytes += messageBytes(message);
    const fits = chunk.fileBytesWith(this.#waiting.length + 1, bytes) <= bytesMax;
    return fits && !this.#isStale ? undefined : this.finish();
  }

  async beginBatch({ framed, header, context }: FramedMessage, rows: number): Promise<ChunkBuffer> {
    if (this.#chunk === undefined) this.#beginChunk(context);
    const chunk = (this.#chunk ??= await this.#openChunk());
    for (const dictionary of this.#waiting) await chunk.appendDictionary(dictionary.framed, dictionary.body);
    this.#waiting = [];
    await chunk.beginBatch(framed, header.bodyBytes, rows);
    return chunk;
  }

  /** Without batches, the chunk is only the schema. */
  async finish(): Promise<ArrowChunk> {
    this.#chunk ??= await this.#openChunk();
    const finished = await this.#chunk.finish(this.nullColumns);
    this.#chunk = undefined;
    this.#lastFileBytes = finished.file.length;
    return finished;
  }

  abandon(): void {
    this.#chunk?.abandon();
    this.#chunk = undefined;
  }

  #beginChunk(context: MessageContext): void {
    const { limits, dictionaries, budget } = this.#parts;
    if (this.#chunks === limits.chunksMax) this.#refuseMore();
    if (this.#chunks > 0) budget.charge(dictionaries.replayBytes(), context);
    this.#chunks += 1;
    this.#isStale = false;
    this.#waiting = dictionaries.messages();
  }

  async #openChunk(): Promise<ChunkBuffer> {
    const { schema, limits, memory } = this.#parts;
    return ChunkBuffer.open(memory, schema, Math.min(this.#lastFileBytes, limits.chunkBytes));
  }

  #refuseMore(): never {
    const { chunksMax } = this.#parts.limits;
    const reason = this.#replacements === 0 ? '' : `, ${this.#replacements} of them because a dictionary was replaced`;
    const hint = 'Send the rows in several requests, with one dictionary for all batches of each.';
    throw invalidInput(`The Arrow stream needs more than ${formatCount(chunksMax)} chunks${reason}.`, hint);
  }
}
