import {
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int32,
  Table,
  makeData,
  makeVector,
  tableToIPC,
  vectorFromArray,
} from 'apache-arrow';
import { openArrowStream } from '../src/arrow/stream/checked-stream.ts';
import type { ArrowLimits } from '../src/model/limits.ts';

export const DIMENSION = 128;
export const ARROW_FILE = 'application/vnd.apache.arrow.file';

/** An Arrow stream in three parts: repeating the middle part produces any size. */
export interface StreamParts {
  readonly schema: Buffer;
  readonly batch: Buffer;
  readonly end: Buffer;
  readonly rows: number;
}

/** Rows with an id, a price and a vector of random numbers; the same for the same seed. */
export function makeStreamParts(rows: number, seed: number): StreamParts {
  const random = randomNumbers(seed);
  const numbers = Float32Array.from({ length: rows * DIMENSION }, () => random() * 2 - 1);
  const item = new Field('item', new Float32(), true);
  const child = makeData({ type: new Float32(), data: numbers, length: numbers.length });
  const vectors = makeData({ type: new FixedSizeList(DIMENSION, item), length: rows, nullCount: 0, child });
  const ids = Array.from({ length: rows }, (_unused, row) => row);
  const table = new Table({
    id: vectorFromArray(ids, new Int32()),
    price: vectorFromArray(
      ids.map((id) => id * 0.5),
      new Float64(),
    ),
    vec: makeVector(vectors),
  });
  return splitStream(Buffer.from(tableToIPC(table, 'stream')), rows);
}

/** Rows with an id and a price, like those of counters and states. */
export function makeCounterParts(rows: number): StreamParts {
  const ids = Array.from({ length: rows }, (_unused, row) => row);
  const table = new Table({
    id: vectorFromArray(ids, new Int32()),
    price: vectorFromArray(
      ids.map((id) => id * 0.5),
      new Float64(),
    ),
  });
  return splitStream(Buffer.from(tableToIPC(table, 'stream')), ids.length);
}

export function joinStream(parts: StreamParts, batches: number): readonly Buffer[] {
  return [parts.schema, ...Array.from({ length: batches }, () => parts.batch), parts.end];
}

/** The same data as one Arrow file in memory, as the engine's own API requires. */
export async function toFile(stream: readonly Buffer[]): Promise<Buffer> {
  const { chunks } = await openArrowStream(yieldAll(stream), ONE_CHUNK);
  for await (const chunk of chunks) return chunk.file;
  throw new Error('the stream gave no chunk');
}

export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function splitStream(stream: Buffer, rows: number): StreamParts {
  const schemaEnd = 8 + stream.readInt32LE(4);
  const endStart = stream.length - 8;
  return {
    schema: stream.subarray(0, schemaEnd),
    batch: stream.subarray(schemaEnd, endStart),
    end: stream.subarray(endStart),
    rows,
  };
}

async function* yieldAll(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces;
}

const GIBIBYTE = 1024 ** 3;

const ONE_CHUNK: ArrowLimits = {
  streamBytesMax: 4 * GIBIBYTE,
  messageBytesMax: GIBIBYTE,
  metadataBytesMax: 1024 ** 2,
  decodedBytesMax: 16 * GIBIBYTE,
  decodedRatioMax: 1000,
  decodedFloorBytes: GIBIBYTE,
  columnsMax: 100,
  depthMax: 8,
  rowsPerBatchMax: 10_000_000,
  dictionaryBytesMax: 1024 ** 2,
  chunkBytes: 2 * GIBIBYTE,
  chunksMax: 4,
  keptChunksMax: 4,
};
