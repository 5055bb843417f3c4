import type { ArrowLimits } from '../../model/limits.ts';
import type { DataType } from '../../model/schema.ts';
import { toSchemaMessage } from '../format/footer.ts';
import { HEADER_KIND, readBatchHeader, readMessageHeader } from '../format/message-header.ts';
import type { BatchHeader, MessageHeader } from '../format/message-header.ts';
import type { ReadSchema } from '../schema/schema-reader.ts';
import { BatchBuffers, DecodedBudget } from './batch-buffers.ts';
import { checkBatch } from './batch-check.ts';
import type { BatchSchema } from './batch-check.ts';
import { freeMemory } from './buffer-pool.ts';
import type { ChunkMemory } from './buffer-pool.ts';
import type { ByteSource } from './byte-source.ts';
import { ChunkAssembler } from './chunk-assembler.ts';
import type { ArrowChunk } from './chunk-buffer.ts';
import { Dictionaries, messageBytes } from './dictionaries.ts';
import type { DictionaryMessage } from './dictionaries.ts';
import { readMessage, refuseCutOff, requireEnd } from './message-reader.ts';
import type { FramedMessage } from './message-reader.ts';

/** Messages other than rows, by the tags of the union `MessageHeader` in Message.fbs. */
const OTHER_KINDS: Readonly<Record<number, string>> = { 0: 'is empty', 4: 'is a tensor', 5: 'is a sparse tensor' };

interface ChunkReaderParts extends ReadSchema {
  readonly source: ByteSource;
  readonly limits: ArrowLimits;
  readonly memory: ChunkMemory;
  /** The schema message. */
  readonly message: FramedMessage;
}

/** Reads what follows the schema: checks each message, and collects the batches into chunks. */
export class ChunkReader {
  readonly #parts: ChunkReaderParts;
  readonly #dictionaries: Dictionaries;
  readonly #budget: DecodedBudget;
  readonly #assembler: ChunkAssembler;
  #messages = 1;
  #batches = 0;

  constructor(parts: ChunkReaderParts) {
    const { limits, memory, message } = parts;
    const dictionaries = new Dictionaries(parts.dictionaries, limits.dictionaryBytesMax);
    const budget = new DecodedBudget(limits);
    const schema = toSchemaMessage(message.framed, message.header);
    this.#parts = parts;
    this.#dictionaries = dictionaries;
    this.#budget = budget;
    this.#assembler = new ChunkAssembler({ limits, memory, schema, dictionaries, budget });
  }

  async *read(): AsyncGenerator<ArrowChunk, void, void> {
    const { source, limits } = this.#parts;
    try {
      for (;;) {
        const message = await this.#nextMessage();
        if (message === undefined) break;
        const { header, framed, context } = message;
        if (header.kind === HEADER_KIND.dictionaryBatch) {
          await this.#readDictionary(message);
          continue;
        }
        this.#batches += 1;
        context.name = `Record batch ${this.#batches}`;
        const batch = readBatchHeader(header, header.table, limits.rowsPerBatchMax);
        const full = await this.#assembler.takeFull(framed.length + header.bodyBytes);
        if (full !== undefined) yield full;
        await this.#readBatch(message, batch);
      }
      await requireEnd(source);
      yield await this.#assembler.finish();
    } finally {
      this.#assembler.abandon();
      this.#drop(this.#dictionaries.messages());
      await source.close();
    }
  }

  async #nextMessage(): Promise<FramedMessage | undefined> {
    const { source, limits, message: schema } = this.#parts;
    const message = await readMessage(source, limits, this.#messages);
    if (message === undefined) return undefined;
    const { header, context } = message;
    this.#messages += 1;
    this.#budget.receivedBytes = source.offset + header.bodyBytes;
    if (header.kind === HEADER_KIND.schema) {
      context.refuse('is a second schema', 'A stream must have one schema, at its start.');
    }
    if (header.kind !== HEADER_KIND.recordBatch && header.kind !== HEADER_KIND.dictionaryBatch) {
      const hint = 'Only dictionary and record batches may follow the schema.';
      context.refuse(OTHER_KINDS[header.kind] ?? `has the unknown kind ${header.kind}`, hint);
    }
    if (header.version !== schema.header.version) context.refuse('has a different metadata version than the schema');
    return message;
  }

  /** Dictionaries are kept until they are replaced, or to the end, because later chunks repeat them. */
  async #readDictionary({ framed, header, context }: FramedMessage): Promise<void> {
    const { source, limits, memory, dictionaries } = this.#parts;
    const { flatbuffer, table, bodyBytes } = header;
    const id = flatbuffer.i64Field(table, 0);
    context.name = `A batch of dictionary ${id}`;
    const values = dictionaries.valuesOf.get(id) ?? context.refuse('belongs to no column of the schema');
    const data = flatbuffer.tableField(table, 1) ?? context.refuse('has no values');
    const batch = readBatchHeader(header, data, limits.rowsPerBatchMax);
    this.#dictionaries.requireCapacity(framed.length + bodyBytes, context);
    await memory.reserve(framed.length + bodyBytes);
    const body = Buffer.allocUnsafe(bodyBytes);
    if (!(await source.fill(body))) refuseCutOff(context);
    const buffers = new BatchBuffers(batch, body, this.#budget);
    const rules = { columns: [values], hasDictionary: () => false };
    checkBatch(buffers, rules);
    if (buffers.isCompleted) this.#checkCompleted(header, { rows: batch.rows, body }, rules);
    const isDelta = flatbuffer.u8Field(table, 2) !== 0;
    if (isDelta) this.#budget.charge(this.#dictionaries.decodedBytesOf(id), context);
    const message = { id, isDelta, framed, body, decodedBytes: buffers.decodedBytes };
    this.#drop(this.#assembler.addDictionary(message, context));
  }

  #drop(messages: readonly DictionaryMessage[]): void {
    for (const message of messages) {
      this.#parts.memory.endReservation(messageBytes(message));
      freeMemory(message.framed);
      freeMemory(message.body);
    }
  }

  async #readBatch(message: FramedMessage, header: BatchHeader): Promise<void> {
    const { source, schema } = this.#parts;
    const chunk = await this.#assembler.beginBatch(message, header.rows);
    for (let remaining = header.bodyBytes; remaining > 0;) {
      const piece = (await source.take(remaining)) ?? refuseCutOff(message.context);
      const growing = chunk.append(piece, remaining);
      if (growing !== undefined) await growing;
      remaining -= piece.length;
    }
    const buffers = new BatchBuffers(header, chunk.tail(header.bodyBytes), this.#budget);
    const rules = {
      columns: schema.fields,
      hasDictionary: (type: DataType) => this.#dictionaries.has(type),
      nullColumns: this.#assembler.nullColumns,
    };
    checkBatch(buffers, rules);
    if (!buffers.isCompleted) return;
    chunk.completeBatch(message.framed);
    this.#checkCompleted(message.header, { rows: header.rows, body: chunk.tail(header.bodyBytes) }, rules);
  }

  /** If parts of the metadata overlap, what was checked first may have changed when later parts were completed. */
  #checkCompleted(
    { flatbuffer, kind }: MessageHeader,
    { rows, body }: { readonly rows: number; readonly body: Buffer },
    rules: BatchSchema,
  ): void {
    const { rowsPerBatchMax } = this.#parts.limits;
    const header = readMessageHeader(flatbuffer.bytes, flatbuffer.context);
    const data = kind === HEADER_KIND.dictionaryBatch ? flatbuffer.tableField(header.table, 1) : header.table;
    const batch = readBatchHeader(header, data ?? flatbuffer.refuse('holds no values'), rowsPerBatchMax);
    const buffers = new BatchBuffers(batch, body);
    checkBatch(buffers, rules);
    const isSame = header.kind === kind && header.bodyBytes === body.length && batch.rows === rows;
    if (!isSame || buffers.isCompleted) flatbuffer.refuse('has metadata whose parts overlap');
  }
}
