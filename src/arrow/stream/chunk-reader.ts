import type { ArrowLimits } from '../../model/limits.ts';
import type { Schema } from '../../model/schema.ts';
import { BatchBuffers, DecodedBudget } from './batch-buffers.ts';
import { checkBatch } from './batch-check.ts';
import type { BatchHeader, MessageHeader } from '../format/message-header.ts';
import { readBatchHeader, HEADER_KIND } from '../format/message-header.ts';
import type { ChunkMemory } from './buffer-pool.ts';
import type { ByteSource } from './byte-source.ts';
import { ChunkAssembler } from './chunk-assembler.ts';
import type { ArrowChunk } from './chunk-assembler.ts';
import { Dictionaries } from './dictionaries.ts';
import { readMessage, refuseCutOff, requireEnd } from './message-reader.ts';
import type { FramedMessage } from './message-reader.ts';
import type { SchemaMessage } from '../format/footer.ts';
import type { DictionaryTypes } from '../schema/schema-reader.ts';

/** What is smaller needs no account. */
const LARGE_BODY_BYTES = 64 * 1024;

export interface ChunkReaderParts {
  readonly source: ByteSource;
  readonly limits: ArrowLimits;
  readonly memory: ChunkMemory;
  readonly schema: Schema;
  readonly schemaMessage: SchemaMessage;
  readonly dictionaryTypes: DictionaryTypes;
}

/** Reads what follows the schema: checks each message, and hands it on in chunks. */
export class ChunkReader {
  readonly #parts: ChunkReaderParts;
  readonly #dictionaries: Dictionaries;
  readonly #budget: DecodedBudget;
  readonly #assembler: ChunkAssembler;
  readonly #bodies: Buffer[] = [];
  #messages = 1;
  #batches = 0;

  constructor(parts: ChunkReaderParts) {
    const { limits, memory, schemaMessage: schema } = parts;
    const dictionaries = new Dictionaries(parts.dictionaryTypes, limits.dictionaryBytesMax);
    const budget = new DecodedBudget(limits);
    this.#parts = parts;
    this.#dictionaries = dictionaries;
    this.#budget = budget;
    this.#assembler = new ChunkAssembler({ limits, memory, schema, dictionaries, budget });
  }

  async *read(): AsyncGenerator<ArrowChunk, void, void> {
    const { source } = this.#parts;
    try {
      for (;;) {
        const message = await this.#nextMessage();
        if (message === undefined) break;
        if (message.header.kind === HEADER_KIND.dictionaryBatch) {
          await this.#readDictionary(message);
        } else {
          const header = this.#readBatchHeader(message);
          const full = await this.#assembler.takeFull(message.framed.length + header.bodyBytes);
          if (full !== undefined) yield full;
          await this.#readBatch(message, header);
        }
      }
      await requireEnd(source);
      yield await this.#assembler.finish();
    } finally {
      this.#releaseChunks();
      await source.close();
    }
  }

  async #nextMessage(): Promise<FramedMessage | undefined> {
    const { source, limits, schemaMessage } = this.#parts;
    const message = await readMessage(source, limits, this.#messages);
    if (message === undefined) return undefined;
    const { header, place } = message;
    this.#messages += 1;
    this.#budget.receivedBytes = source.offset + header.bodyBytes;
    if (header.kind === HEADER_KIND.schema)
      place.refuse('is a second schema', 'A stream has one schema, at its start.');
    if (header.kind !== HEADER_KIND.recordBatch && header.kind !== HEADER_KIND.dictionaryBatch) {
      place.refuse(
        `is of the unknown kind ${header.kind}`,
        'After the schema come dictionary and record batches only.',
      );
    }
    if (header.version !== schemaMessage.version) place.refuse('has another metadata version than the schema');
    return message;
  }

  async #readDictionary({ framed, header, place }: FramedMessage): Promise<void> {
    const { source, limits, dictionaryTypes } = this.#parts;
    const { flatbuffer, table, bodyBytes } = header;
    const id = flatbuffer.i64Field(table, 0, 0);
    place.name = `A batch of dictionary ${id}`;
    const values = dictionaryTypes.valuesOf.get(id);
    if (values === undefined) return place.refuse('belongs to no column of the schema');
    const batchHeader = readBatchHeader(header, requireData(header), limits.rowsPerBatchMax);
    this.#dictionaries.requireRoom(framed.length + bodyBytes, place);
    const body = await this.#takeBody(bodyBytes);
    if (!(await source.fill(body))) refuseCutOff(place);
    const buffers = new BatchBuffers(batchHeader, body, this.#budget);
    checkBatch(buffers, { columns: [values], hasDictionary: () => false });
    const isDelta = flatbuffer.u8Field(table, 2, 0) !== 0;
    if (isDelta) this.#budget.charge(this.#dictionaries.decodedBytesOf(id), place);
    const message = { id, isDelta, framed, body, decodedBytes: buffers.decodedBytes };
    this.#assembler.addDictionary(message, this.#dictionaries.add(message, place));
  }

  /** Dictionaries stay to the end: later chunks need them again. */
  async #takeBody(bytes: number): Promise<Buffer> {
    if (bytes < LARGE_BODY_BYTES) return Buffer.allocUnsafe(bytes);
    const buffer = await this.#parts.memory.take(bytes);
    this.#bodies.push(buffer);
    return buffer.subarray(0, bytes);
  }

  #releaseChunks(): void {
    this.#assembler.abandon();
    for (const buffer of this.#bodies.splice(0)) this.#parts.memory.give(buffer);
  }

  #readBatchHeader({ header, place }: FramedMessage): BatchHeader {
    this.#batches += 1;
    place.name = `Record batch ${this.#batches}`;
    return readBatchHeader(header, header.table, this.#parts.limits.rowsPerBatchMax);
  }

  async #readBatch(message: FramedMessage, header: BatchHeader): Promise<void> {
    const { source, schema } = this.#parts;
    const { bodyBytes } = header;
    const chunk = await this.#assembler.beginBatch(message, header.rows);
    for (let left = bodyBytes; left > 0;) {
      const piece = await source.take(left);
      if (piece === undefined) return refuseCutOff(message.place);
      const growing = chunk.append(piece, left);
      if (growing !== undefined) await growing;
      left -= piece.length;
    }
    const buffers = new BatchBuffers(header, chunk.tail(bodyBytes), this.#budget);
    const hasDictionary = this.#dictionaries.hasDictionary.bind(this.#dictionaries);
    checkBatch(buffers, { columns: schema.fields, hasDictionary, nullColumns: this.#assembler.nullColumns });
  }
}

function requireData({ flatbuffer, table }: MessageHeader): number {
  return flatbuffer.tableField(table, 1) ?? flatbuffer.place.refuse('holds no values');
}
