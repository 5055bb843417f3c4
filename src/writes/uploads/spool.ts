import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ArrowChunk } from '../../arrow/stream/checked-stream.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { pullChunks } from '../../arrow/stream/chunk-source.ts';
import type { ChunkSource } from '../../arrow/stream/chunk-source.ts';

export interface SpoolSettings {
  /** Of this service alone; what a run that crashed has left in it is removed. */
  readonly folder: string;
  readonly bytesMax: number;
}

/** A chunk of checked data on disk. */
export interface SpooledChunk {
  readonly path: string;
  readonly bytes: number;
  readonly rows: number;
  readonly batches: number;
}

/**
 * Chunks that wait on disk until all of their stream, or all of its sisters, have arrived. So a slow sender keeps nobody
 * waiting for the table, and one that breaks off has committed nothing.
 */
export class Spool {
  readonly #bytesMax: number;
  /** Each process has a folder of its own, named by its number. */
  readonly #folder: string;
  #made: Promise<unknown> | undefined;
  #usedBytes = 0;
  #files = 0;

  private constructor({ folder, bytesMax }: SpoolSettings) {
    this.#bytesMax = bytesMax;
    this.#folder = join(folder, String(process.pid));
  }

  static async open(settings: SpoolSettings): Promise<Spool> {
    await sweep(settings.folder);
    return new Spool(settings);
  }

  /** Takes the whole stream; after a failure nothing of it is left. */
  async take({ pulled, rest }: Pick<ChunkSource, 'pulled' | 'rest'>): Promise<readonly SpooledChunk[]> {
    const taken: SpooledChunk[] = [];
    try {
      for (const chunk of pulled) taken.push(await this.#write(chunk, taken));
      for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
        taken.push(await this.#write(next.value, taken));
      }
      return taken;
    } catch (error) {
      await rest.return?.().catch(() => {});
      await this.remove(taken);
      throw error;
    }
  }

  /** A source of the chunks, to be read once. Those without rows are left out, but for one that has the schema. */
  async read(chunks: readonly SpooledChunk[]): Promise<ChunkSource> {
    const filled = chunks.filter(({ rows }) => rows > 0);
    const read = filled.length > 0 ? filled : chunks.slice(0, 1);
    const isLong = read.length > 1;
    const source = await pullChunks({ chunks: readChunks(read) }, isLong ? 0 : 1);
    return { ...source, isLong };
  }

  async remove(chunks: readonly SpooledChunk[]): Promise<void> {
    for (const { path, bytes } of chunks) {
      // A file that stays is found by the sweep of the next start.
      await rm(path, { force: true }).catch(() => {});
      this.#usedBytes -= bytes;
    }
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #write(chunk: ArrowChunk, taken: readonly SpooledChunk[]): Promise<SpooledChunk> {
    const { file, rows, batches } = chunk;
    const bytes = file.length;
    try {
      this.#reserve(bytes, taken);
      this.#files += 1;
      const path = join(this.#folder, `${this.#files}.arrow`);
      try {
        this.#made ??= mkdir(this.#folder, { recursive: true });
        await this.#made;
        await writeFile(path, file);
        return { path, bytes, rows, batches };
      } catch (cause) {
        await this.remove([{ path, bytes, rows, batches }]);
        throw notWritten(cause);
      }
    } finally {
      chunk.release();
    }
  }

  #reserve(bytes: number, taken: readonly SpooledChunk[]): void {
    const ownBytes = taken.reduce((sum, chunk) => sum + chunk.bytes, bytes);
    if (ownBytes > this.#bytesMax) throw tooLarge(this.#bytesMax);
    if (this.#usedBytes + bytes > this.#bytesMax) throw full();
    this.#usedBytes += bytes;
  }
}

async function* readChunks(chunks: readonly SpooledChunk[]): AsyncGenerator<ArrowChunk> {
  for (const { path, rows, batches } of chunks) {
    const file = await readFile(path);
    yield { file, rows, batches, nullColumns: new Set(), release: () => {} };
  }
}

/** Folders of processes that are no more; one of our own number is left from a machine that was started again. */
async function sweep(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (isRunning(Number(name))) continue;
    // What cannot be removed now is swept by a later start.
    await rm(join(folder, name), { recursive: true, force: true }).catch(() => {});
  }
}

function isRunning(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function tooLarge(bytesMax: number): ServiceError {
  return new ServiceError('PayloadTooLarge', `The rows take more than ${bytesMax} bytes until they are written.`, {
    hint: 'Send them in several requests, or ask the operator to raise engine.spoolBytesMax.',
  });
}

function full(): ServiceError {
  return new ServiceError('ServiceUnavailable', 'Too much data of other requests is waiting to be written.', {
    hint: 'Try again when they have finished.',
    retryAfterSeconds: 5,
  });
}

function notWritten(cause: unknown): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The rows could not be kept until all of them have arrived.', {
    cause,
    retryAfterSeconds: 30,
  });
}
