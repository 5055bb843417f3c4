import { RecordBatchReader } from 'apache-arrow';
import type { RecordBatch, Schema } from 'apache-arrow';
import { Footer } from 'apache-arrow/ipc/metadata/file';
import type { ReadPlan, Source, SourceBatch } from '../format.ts';
import { blobInput, readPieces } from '../input.ts';
import type { Input } from '../input.ts';
import { columnOf, makeBatch } from '../row-batches.ts';
import { END_OF_STREAM, footerRange, isArrowFile, readMessages, unreadableArrow } from './arrow-messages.ts';
import { toSchemaBytes } from './arrow-stream.ts';
import { toPlainTypes } from './plain-types.ts';

export async function openArrow(input: Input): Promise<Source> {
  const { reader } = await openInput(input);
  const { schema } = reader;
  await reader.cancel();
  return { columns: schema.fields, metadata: schema.metadata, batches: (plan) => readBatches(input, plan) };
}

/** The batches of an Arrow stream as it arrives, such as a query's reply. */
export async function readStream(pieces: AsyncIterable<Uint8Array>) {
  const reader = await openPieces(pieces);
  return { schema: reader.schema, batches: allBatches(reader) };
}

/** The schema at the start of an Arrow stream, with large lists and dictionaries replaced by plain types. */
export async function readPlainSchema(stream: ArrayBuffer): Promise<Schema> {
  const { schema } = await openPieces(plainSchemaOf(stream));
  return schema;
}

async function* plainSchemaOf(stream: ArrayBuffer): AsyncGenerator<Uint8Array> {
  for await (const { bytes } of readMessages(blobInput(new Blob([stream])))) {
    toPlainTypes(bytes);
    yield bytes;
    break;
  }
  yield END_OF_STREAM;
}

async function* allBatches(reader: RecordBatchReader): AsyncGenerator<RecordBatch> {
  for (;;) {
    const result = await readable(async () => reader.next());
    if (result.done === true) return;
    yield result.value;
  }
}

async function openInput(input: Input): Promise<{ reader: RecordBatchReader; readBytes: () => number }> {
  const isFile = await isArrowFile(input);
  let readBytes = 0;
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of isFile ? readFile(input) : readPieces(input)) {
      readBytes += piece.length;
      yield piece;
    }
  };
  return { reader: await openPieces(counted()), readBytes: () => Math.min(readBytes, input.size) };
}

/** The messages of a file as a stream, found through its footer, because some writers write the schema only there. */
async function* readFile(input: Input): AsyncGenerator<Uint8Array> {
  const { start, end } = await footerRange(input);
  const footer = Footer.decode(new Uint8Array(await input.slice(start, end)));
  yield toSchemaBytes(footer.schema);
  for (const { offset, metaDataLength, bodyLength } of [...footer.dictionaryBatches(), ...footer.recordBatches()]) {
    yield new Uint8Array(await input.slice(offset, offset + metaDataLength + bodyLength));
  }
  yield END_OF_STREAM;
}

async function openPieces(pieces: AsyncIterable<Uint8Array>): Promise<RecordBatchReader> {
  return readable(async () => {
    const reader = await readerOf(pieces);
    await reader.open({ autoDestroy: false });
    if (reader.schema === undefined) throw new Error('no schema');
    return reader;
  });
}

/** The package's types treat an async source as a synchronous one. */
async function readerOf(source: AsyncIterable<Uint8Array>): Promise<RecordBatchReader> {
  return RecordBatchReader.from(source);
}

async function readable<Value>(read: () => Promise<Value>): Promise<Value> {
  try {
    return await read();
  } catch (error) {
    throw unreadableArrow(error);
  }
}

async function* readBatches(input: Input, { columns, schema, batchRows }: ReadPlan): AsyncGenerator<SourceBatch> {
  const { reader, readBytes } = await openInput(input);
  let row = 0;
  try {
    for await (const batch of allBatches(reader)) {
      for (let at = 0; at < batch.numRows; at += batchRows) {
        const part = batch.numRows <= batchRows ? batch : batch.slice(at, at + batchRows);
        const children = columns.map((column) => columnOf(part, column, row + at));
        yield { batch: makeBatch(schema, children, part.numRows), endByte: readBytes() };
      }
      row += batch.numRows;
    }
  } finally {
    await reader.cancel();
  }
}
