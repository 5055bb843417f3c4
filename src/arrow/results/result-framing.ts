import { setImmediate as nextTurn } from 'node:timers/promises';
import { createFooter, END_OF_STREAM, FILE_START } from '../format/footer.ts';
import type { Block, SchemaMessage } from '../format/footer.ts';
import { DictionaryMerge } from './dictionary-merge.ts';
import { dictionaryIdOf, readResultFile } from './result-file.ts';
import type { ResultMessage } from './result-file.ts';

/** The rows of a query: complete Arrow IPC files with one schema, one for each batch. */
export interface ResultFiles {
  /** A file with the schema of the result; any batches in it are not part of the result. */
  readonly head: Buffer;
  /** An array if all files have been read. */
  readonly files: readonly Buffer[] | AsyncIterable<Buffer>;
}

export function isRead(files: ResultFiles['files']): files is readonly Buffer[] {
  return Array.isArray(files);
}

/** Reads a result of up to this size completely; a larger one remains to be read. */
export async function readSmall({ head, files }: ResultFiles, bytesMax: number): Promise<ResultFiles> {
  if (isRead(files) && files.reduce((sum, { length }) => sum + length, 0) <= bytesMax) return { head, files };
  const rest = isRead(files) ? iterate(files) : files[Symbol.asyncIterator]();
  const read: Buffer[] = [];
  for (let bytes = 0; bytes <= bytesMax;) {
    const next = await rest.next();
    if (next.done === true) return { head, files: read };
    read.push(next.value);
    bytes += next.value.length;
  }
  return { head, files: continueReading(read, rest) };
}

async function* iterate(files: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* files;
}

function continueReading(read: Buffer[], rest: AsyncIterator<Buffer>): AsyncIterable<Buffer> {
  const next = async (): Promise<IteratorResult<Buffer>> => {
    const value = read.shift();
    return value === undefined ? rest.next() : { done: false, value };
  };
  const leave = async (): Promise<IteratorResult<Buffer>> => {
    await rest.return?.();
    return { done: true, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: leave }) };
}

/** Turns the files of one result into one reply. Each step yields the bytes that are ready. */
export interface Framing {
  begin(head: Buffer): Iterable<Uint8Array>;
  add(file: Buffer): Iterable<Uint8Array>;
  end(): Iterable<Uint8Array>;
  /** Whether an engine file that is the whole result can be sent unchanged. */
  readonly isFile?: boolean;
}

/** Writing a megabyte of vectors as text takes a tenth of a second: after this time, other requests get a turn. */
const TURN_MILLISECONDS = 5;

export async function* frame(framing: Framing, { head, files }: ResultFiles): AsyncGenerator<Uint8Array> {
  let isBegun = false;
  for await (const file of files) {
    // Inside `try`, because a reader that stops at the schema must stop the files too.
    if (!isBegun) yield* framing.begin(head);
    isBegun = true;
    let turnAt = performance.now() + TURN_MILLISECONDS;
    for (const piece of framing.add(file)) {
      yield piece;
      if (performance.now() < turnAt) continue;
      await nextTurn();
      turnAt = performance.now() + TURN_MILLISECONDS;
    }
  }
  if (!isBegun) yield* framing.begin(head);
  yield* framing.end();
}

/** Does the same at once, for a result that was already read. */
export function frameWhole(framing: Framing, head: Buffer, files: readonly Buffer[]): Buffer {
  const [first, ...others] = files;
  if (framing.isFile === true && first !== undefined && others.length === 0) return first;
  const pieces = [...framing.begin(head)];
  for (const file of files) pieces.push(...framing.add(file));
  pieces.push(...framing.end());
  return Buffer.concat(pieces);
}

/** One Arrow IPC stream. Nothing is decoded: the engine's messages are sent unchanged. */
export function arrowStream(): Framing {
  const sent = new Map<number, Buffer>();
  return {
    begin: (head) => [readResultFile(head).schema.framed],
    *add(file) {
      const { dictionaries, batches } = readResultFile(file);
      for (const { header, bytes } of dictionaries) {
        // A dictionary replaces the previous one, so an unchanged one is not sent again.
        const id = dictionaryIdOf(header);
        if (sent.get(id)?.equals(bytes) === true) continue;
        sent.set(id, bytes);
        yield bytes;
      }
      for (const batch of batches) yield batch.bytes;
    },
    end: () => [END_OF_STREAM],
  };
}

export function arrowFile(): Framing {
  const blocks = { dictionaries: [] as Block[], batches: [] as Block[] };
  let schema: SchemaMessage;
  let merge: DictionaryMerge;
  let offset = FILE_START.length;
  const add = (list: Block[], { bytes, metadataBytes }: Pick<ResultMessage, 'bytes' | 'metadataBytes'>): Buffer => {
    list.push({ offset, metadataBytes, bodyBytes: bytes.length - metadataBytes });
    offset += bytes.length;
    return bytes;
  };
  return {
    isFile: true,
    begin(head) {
      ({ schema } = readResultFile(head));
      merge = new DictionaryMerge(schema);
      offset += schema.framed.length;
      return [FILE_START, schema.framed];
    },
    *add(file) {
      const { dictionaries, batches } = readResultFile(file);
      for (const added of dictionaries.flatMap((each) => merge.add(each))) yield add(blocks.dictionaries, added);
      for (const batch of batches) yield add(blocks.batches, merge.rewrite(batch));
    },
    end: () => [END_OF_STREAM, createFooter({ schema, ...blocks })],
  };
}
