import { RecordBatchReader } from 'apache-arrow';
import type { Data, RecordBatch, Schema } from 'apache-arrow';
import { Footer } from 'apache-arrow/ipc/metadata/file';
import { unreadableArrow, FOOTER_TAIL_BYTES, footerLength, isArrowFile } from './arrow-messages.ts';
import { END_OF_STREAM_BYTES, toStreamBytes } from './arrow-stream.ts';
import { buildData } from '../types/build-data.ts';
import { convertColumn, makeBatch, schemaOf } from '../row-batches.ts';
import { readPieces } from '../input.ts';
import type { Input } from '../input.ts';
import type { BatchBounds, PlannedColumn, Source, SourceBatch } from '../format.ts';

export async function openArrow(input: Input): Promise<Source> {
  const { reader } = await openStream(input);
  const { schema } = reader;
  await reader.cancel();
  return {
    columns: schema.fields.map(({ name, type, nullable, metadata }) => ({ name, type, nullable, metadata })),
    isOpen: false,
    rowCount: undefined,
    metadata: schema.metadata,
    batches: (planned, bounds) => readBatches(input, planned, bounds, schema.metadata),
  };
}

/** The batches of an Arrow stream that arrives, such as the reply of a query. */
export async function readStream(
  pieces: AsyncIterable<Uint8Array>,
): Promise<{ readonly schema: Schema; readonly batches: AsyncGenerator<RecordBatch> }> {
  const reader = await openPieces(pieces);
  return { schema: reader.schema, batches: allBatches(reader) };
}

async function* allBatches(reader: RecordBatchReader): AsyncGenerator<RecordBatch> {
  for (let batch = await nextBatch(reader); batch !== undefined; batch = await nextBatch(reader)) yield batch;
}

async function openStream(input: Input): Promise<{ reader: RecordBatchReader; readBytes: () => number }> {
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

/** The messages of a file as a stream, by its footer: some writers leave the schema out in front. */
async function* readFile(input: Input): AsyncGenerator<Uint8Array> {
  const end = input.size - FOOTER_TAIL_BYTES;
  const length = await footerLength(input);
  const footer = Footer.decode(new Uint8Array(await input.slice(end - length, end)));
  const empty = toStreamBytes(footer.schema, []);
  yield empty.subarray(0, empty.length - END_OF_STREAM_BYTES);
  for (const { offset, metaDataLength, bodyLength } of [...footer.dictionaryBatches(), ...footer.recordBatches()]) {
    yield new Uint8Array(await input.slice(offset, offset + metaDataLength + bodyLength));
  }
  yield empty.subarray(empty.length - END_OF_STREAM_BYTES);
}

async function openPieces(pieces: AsyncIterable<Uint8Array>): Promise<RecordBatchReader> {
  try {
    const reader = await readerOf(pieces);
    await reader.open({ autoDestroy: false });
    if (reader.schema === undefined) throw new Error('no schema');
    return reader;
  } catch (error) {
    throw unreadableArrow(error);
  }
}

/** The types of the package take an async source for a plain one. */
async function readerOf(source: AsyncIterable<Uint8Array>): Promise<RecordBatchReader> {
  return RecordBatchReader.from(source);
}

async function* readBatches(
  input: Input,
  planned: readonly PlannedColumn[],
  bounds: BatchBounds,
  metadata: ReadonlyMap<string, string>,
): AsyncGenerator<SourceBatch> {
  const { reader, readBytes } = await openStream(input);
  const schema = schemaOf(planned, metadata);
  let row = 0;
  try {
    for (;;) {
      const batch = await nextBatch(reader);
      if (batch === undefined) return;
      for (let at = 0; at < batch.numRows; at += bounds.rows) {
        const part = batch.numRows <= bounds.rows ? batch : batch.slice(at, at + bounds.rows);
        const children = planned.map((column) => columnOf(part, column, row + at));
        yield { batch: makeBatch(schema, children, part.numRows), rows: part.numRows, endByte: readBytes() };
      }
      row += batch.numRows;
    }
  } finally {
    await reader.cancel();
  }
}

async function nextBatch(reader: RecordBatchReader): Promise<RecordBatch | undefined> {
  try {
    const result = await reader.next();
    return result.done === true ? undefined : result.value;
  } catch (error) {
    throw unreadableArrow(error);
  }
}

function columnOf(batch: RecordBatch, column: PlannedColumn, row: number): Data {
  const place = batch.schema.fields.findIndex(({ name }) => name === column.source.name);
  const data = batch.data.children[place];
  if (data === undefined)
    return buildData(
      column.type,
      Array.from({ length: batch.numRows }, () => null),
    );
  return column.convert === undefined ? data : convertColumn(data, column, row);
}
