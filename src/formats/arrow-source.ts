import { RecordBatchReader } from 'apache-arrow';
import type { Data, RecordBatch } from 'apache-arrow';
import { ServiceError } from '../errors/service-error.ts';
import { buildData } from './build-data.ts';
import { convertColumn } from './convert-column.ts';
import { readPieces } from './input.ts';
import type { Input } from './input.ts';
import { makeBatch, schemaOf } from './row-batches.ts';
import type { BatchBounds, PlannedColumn, Source, SourceBatch } from './source.ts';

/** A file begins with `ARROW1` and two zeros; then comes a stream, which is all that is read of it. */
const FILE_HEAD_BYTES = 8;

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

async function openStream(input: Input): Promise<{ reader: RecordBatchReader; readBytes: () => number }> {
  const head = new Uint8Array(await input.slice(0, Math.min(FILE_HEAD_BYTES, input.size)));
  const from = String.fromCharCode(...head.subarray(0, 6)) === 'ARROW1' ? FILE_HEAD_BYTES : 0;
  let readBytes = from;
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of readPieces(input, from)) {
      readBytes += piece.length;
      yield piece;
    }
  };
  try {
    const reader = await readerOf(counted());
    await reader.open({ autoDestroy: false });
    if (reader.schema === undefined) throw new Error('no schema');
    return { reader, readBytes: () => readBytes };
  } catch (error) {
    throw notReadable(error);
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
    throw notReadable(error);
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

function notReadable(error: unknown): ServiceError {
  const text = error instanceof Error ? error.message : '';
  if (text.includes('compression')) {
    return new ServiceError('InvalidInput', 'The buffers of the Arrow file are compressed.', {
      hint: 'Write it without compression.',
      cause: error,
    });
  }
  if (text.includes('Unrecognized type')) {
    return new ServiceError('InvalidInput', 'The Arrow file has a column of a type that is not read here.', {
      hint: 'Lists of 64-bit offsets, views, unions and run-end encoding are not read; send the stream itself to the server.',
      cause: error,
    });
  }
  return new ServiceError('InvalidInput', 'The input is not an Arrow IPC file or stream, or it is cut off.', {
    hint: 'Give a whole file, or the format that it has.',
    cause: error,
  });
}
