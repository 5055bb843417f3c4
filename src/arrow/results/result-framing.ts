import { FILE_MAGIC, footerBytes, writeFooter } from '../format/footer.ts';
import type { Block, SchemaMessage } from '../format/footer.ts';
import { DictionaryMerge } from './dictionary-merge.ts';
import { readResultFile } from './result-file.ts';
import type { ResultMessage } from './result-file.ts';

/** The rows of a query: whole Arrow IPC files, one for each batch, all of one schema. */
export interface ResultFiles {
  /** A file with the schema of the result; its batches, if it has any, are not part of the result. */
  readonly head: Buffer;
  readonly files: AsyncIterable<Buffer>;
}

const END_OF_STREAM = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
const FILE_START = Buffer.concat([FILE_MAGIC, Buffer.alloc(2)]);

/** One Arrow IPC stream. Nothing is decoded: the engine's messages go out as they are. */
export async function* frameAsStream({ head, files }: ResultFiles): AsyncGenerator<Uint8Array> {
  yield readResultFile(head).schema.framed;
  const sent = new Map<string, Buffer>();
  for await (const file of files) {
    const { dictionaries, batches } = readResultFile(file);
    for (const dictionary of dictionaries) {
      // A dictionary takes the place of the one before it, so one that is the same need not be sent again.
      const key = dictionaryKey(dictionary);
      if (sent.get(key)?.equals(dictionary.bytes) === true) continue;
      sent.set(key, dictionary.bytes);
      yield dictionary.bytes;
    }
    for (const batch of batches) yield batch.bytes;
  }
  yield END_OF_STREAM;
}

/** One Arrow IPC file; what its footer needs is collected on the way. */
export async function* frameAsFile({ head, files }: ResultFiles): AsyncGenerator<Uint8Array> {
  const { schema } = readResultFile(head);
  const blocks = new FileBlocks(FILE_START.length + schema.framed.length);
  const merge = new DictionaryMerge(schema);
  yield FILE_START;
  yield schema.framed;
  for await (const file of files) {
    const { dictionaries, batches } = readResultFile(file);
    const mapping = merge.add(dictionaries);
    for (const dictionary of mapping.added) yield blocks.add('dictionaries', dictionary);
    for (const batch of batches) yield blocks.add('batches', mapping.apply(batch));
  }
  yield END_OF_STREAM;
  yield blocks.footer(schema);
}

class FileBlocks {
  readonly dictionaries: Block[] = [];
  readonly batches: Block[] = [];
  #offset: number;

  constructor(offset: number) {
    this.#offset = offset;
  }

  add(
    list: 'dictionaries' | 'batches',
    { bytes, metadataBytes }: Pick<ResultMessage, 'bytes' | 'metadataBytes'>,
  ): Buffer {
    this[list].push({ offset: this.#offset, metadataBytes, bodyBytes: bytes.length - metadataBytes });
    this.#offset += bytes.length;
    return bytes;
  }

  footer(schema: SchemaMessage): Buffer {
    const blocks = this.dictionaries.length + this.batches.length;
    const footer = Buffer.alloc(footerBytes(schema.metadata.length, blocks));
    writeFooter(footer, { schema, dictionaries: this.dictionaries, batches: this.batches });
    return footer;
  }
}

function dictionaryKey({ header }: ResultMessage): string {
  return String(header.flatbuffer.i64Field(header.table, 0, 0));
}
