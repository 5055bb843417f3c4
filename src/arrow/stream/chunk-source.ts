import type { ArrowChunk, CheckedStream } from './checked-stream.ts';

/** Chunks that were read ahead, and the source of the rest. */
export interface ChunkSource {
  readonly pulled: readonly ArrowChunk[];
  readonly rest: AsyncIterator<ArrowChunk>;
  /** Whether there are several chunks, so that writing them takes several commits. */
  readonly isLong: boolean;
  /** Limits concurrent writes of chunks from clients. Held per chunk, so that a slow sender does not hold it. */
  readonly limit?: <Value>(work: () => Promise<Value>) => Promise<Value>;
}

/** Reads up to `countMax` chunks ahead. They may be released again after they were written. */
export async function pullChunks(stream: Pick<CheckedStream, 'chunks'>, countMax: number): Promise<ChunkSource> {
  const rest = stream.chunks[Symbol.asyncIterator]();
  const pulled: ArrowChunk[] = [];
  try {
    while (pulled.length < countMax) {
      const next = await rest.next();
      if (next.done === true) break;
      pulled.push(next.value);
    }
  } catch (error) {
    releaseChunks({ pulled });
    throw error;
  }
  return { pulled, rest, isLong: pulled.length > 1 };
}

export function releaseChunks({ pulled }: Pick<ChunkSource, 'pulled'>): void {
  for (const chunk of pulled) chunk.release();
}

/**
 * Writes the chunks in order and returns the sum of their rows. While one is written the next is read, so at most two
 * buffers are in use. The engine reads a chunk's memory until its write ends; only then is it released.
 */
export async function writeChunks(
  { pulled, rest, limit }: Omit<ChunkSource, 'isLong'>,
  write: (chunk: ArrowChunk) => Promise<void>,
): Promise<number> {
  let rows = 0;
  let writing = Promise.resolve();
  const start = (chunk: ArrowChunk): void => {
    rows += chunk.rows;
    const writeNow = async (): Promise<void> => {
      try {
        await write(chunk);
      } finally {
        chunk.release();
      }
    };
    writing = limit === undefined ? writeNow() : limit(writeNow);
    // Awaited later; until then a failure must not count as unhandled.
    writing.catch(() => {});
  };
  for (const chunk of pulled) {
    await writing;
    start(chunk);
  }
  for (;;) {
    const next = await pullDuring(writing, rest);
    await writing;
    if (next.done === true) return rows;
    start(next.value);
  }
}

/**
 * A failed write stops the reading at once, because the next chunk may take long to arrive. If the reading fails, the
 * write is awaited: until it ends, the engine works on the table that is about to be removed.
 */
async function pullDuring(
  writing: Promise<void>,
  rest: AsyncIterator<ArrowChunk>,
): Promise<IteratorResult<ArrowChunk>> {
  const pulling = rest.next();
  try {
    return await Promise.race([pulling, writing.then(async () => pulling)]);
  } catch (error) {
    pulling.then(
      (late) => (late.done === true ? undefined : late.value.release()),
      () => {},
    );
    rest.return?.().catch(() => {});
    await writing.catch(() => {});
    throw error;
  }
}
