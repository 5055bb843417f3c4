import type { ArrowChunk, CheckedStream } from './checked-stream.ts';

/** Chunks that were pulled already, and where the others come from. */
export interface ChunkSource {
  readonly pulled: readonly ArrowChunk[];
  readonly rest: AsyncIterator<ArrowChunk>;
  /** There is more than one chunk, so that writing them takes several commits. */
  readonly isLong: boolean;
  /** For chunks that come from a client: each is written in a turn of its own, which a slow sender does not hold. */
  readonly turns?: { run<Value>(work: () => Promise<Value>): Promise<Value> };
}

export type WriteChunk = (chunk: ArrowChunk) => Promise<void>;

/** Pulls up to so many chunks ahead. They may be given back after they were written, too. */
export async function pullChunks(stream: Pick<CheckedStream, 'chunks'>, countMax: number): Promise<ChunkSource> {
  const rest = stream.chunks[Symbol.asyncIterator]();
  const pulled: ArrowChunk[] = [];
  try {
    while (pulled.length < countMax) {
      const next = await rest.next();
      if (next.done === true) break;
      pulled.push(releasedOnce(next.value));
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
 * Writes the chunks in order and gives the sum of their rows. While one is written the next is pulled, so that at most two
 * buffers are alive. The engine reads a chunk's memory until its write ends: only then is it given back.
 */
export async function writeChunks(
  { pulled, rest, turns }: Omit<ChunkSource, 'isLong'>,
  write: WriteChunk,
): Promise<number> {
  let rows = 0;
  let writing = Promise.resolve();
  const start = (chunk: ArrowChunk): void => {
    rows += chunk.rows;
    const writeNow = async (): Promise<void> => writeAndRelease(chunk, write);
    writing = turns === undefined ? writeNow() : turns.run(writeNow);
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

function releasedOnce(chunk: ArrowChunk): ArrowChunk {
  let isReleased = false;
  const release = (): void => {
    if (!isReleased) chunk.release();
    isReleased = true;
  };
  return { ...chunk, release };
}

async function writeAndRelease(chunk: ArrowChunk, write: WriteChunk): Promise<void> {
  try {
    await write(chunk);
  } finally {
    chunk.release();
  }
}

/**
 * A write that fails ends the pulling at once, for the next chunk may be long in coming. When the pulling fails, the write
 * is waited for: until it ends, the engine works on the table that is about to be cleared away.
 */
async function pullDuring(
  writing: Promise<void>,
  rest: AsyncIterator<ArrowChunk>,
): Promise<IteratorResult<ArrowChunk>> {
  const pulling = rest.next();
  try {
    return await Promise.race([pulling, writing.then(async () => pulling)]);
  } catch (error) {
    pulling.then(releaseLate, () => {});
    rest.return?.().catch(() => {});
    await writing.catch(() => {});
    throw error;
  }
}

function releaseLate(result: IteratorResult<ArrowChunk>): void {
  if (result.done !== true) result.value.release();
}
