import { createFooter, END_OF_STREAM, FILE_START } from '../format/footer.ts';
import type { Block } from '../format/footer.ts';
import { DictionaryMerge } from './dictionary-merge.ts';
import { dictionaryIdOf, readResultFile } from './result-file.ts';
import type { ResultMessage } from './result-file.ts';

/** The rows of a query: whole Arrow IPC files, one for each batch, all of one schema. */
export interface ResultFiles {
  /** A file with the schema of the result; its batches, if it has any, are not part of the result. */
  readonly head: Buffer;
  readonly files: AsyncIterable<Buffer>;
}

/** One Arrow IPC stream. Nothing is decoded: the engine's messages are sent unchanged. */
export async function* frameAsStream({ head, files }: ResultFiles): AsyncGenerator<Uint8Array> {
  yield readResultFile(head).schema.framed;
  const sent = new Map<number, Buffer>();
  for await (const file of files) {
    const { dictionaries, batches } = readResultFile(file);
    for (const { header, bytes } of dictionaries) {
      // A dictionary replaces the one before it, so an unchanged one is not sent again.
      const id = dictionaryIdOf(header);
      if (sent.get(id)?.equals(bytes) === true) continue;
      sent.set(id, bytes);
      yield bytes;
    }
    for (const batch of batches) yield batch.bytes;
  }
  yield END_OF_STREAM;
}

export async function* frameAsFile({ head, files }: ResultFiles): AsyncGenerator<Uint8Array> {
  const { schema } = readResultFile(head);
  const blocks = { dictionaries: [] as Block[], batches: [] as Block[] };
  let offset = FILE_START.length + schema.framed.length;
  const add = (list: Block[], { bytes, metadataBytes }: Pick<ResultMessage, 'bytes' | 'metadataBytes'>): Buffer => {
    list.push({ offset, metadataBytes, bodyBytes: bytes.length - metadataBytes });
    offset += bytes.length;
    return bytes;
  };
  const merge = new DictionaryMerge(schema);
  yield FILE_START;
  yield schema.framed;
  for await (const file of files) {
    const { dictionaries, batches } = readResultFile(file);
    for (const added of dictionaries.flatMap((each) => merge.add(each))) yield add(blocks.dictionaries, added);
    for (const batch of batches) yield add(blocks.batches, merge.rewrite(batch));
  }
  yield END_OF_STREAM;
  yield createFooter({ schema, ...blocks });
}
