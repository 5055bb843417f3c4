import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ArrowChunk } from '../../arrow/stream/checked-stream.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { pullChunks } from '../../arrow/stream/chunk-source.ts';
import type { ChunkSource } from '../../arrow/stream/chunk-source.ts';
import { CallerCounts } from '../../model/limits/caller-counts.ts';
import { formatByteLimit } from '../../model/value-text.ts';

/** A chunk of checked data on disk. */
export interface SpooledChunk {
  /** The caller who sent the rows. */
  readonly caller: string;
  readonly path: string;
  readonly bytes: number;
  readonly rows: number;
  readonly batches: number;
}

/** The share of the disk space that one caller may use. */
const CALLER_SHARE = 0.75;

/**
 * Chunks that wait on disk until their whole stream, or all parts of their upload, have arrived. So a slow client
 * blocks no other writer, and a client that disconnects has committed nothing.
 */
export class Spool {
  readonly #bytesMax: number;
  /** One per process, named by its id. */
  readonly #folder: string;
  readonly #usedBytes = new CallerCounts();
  #files = 0;

  private constructor(folder: string, bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#folder = join(folder, String(process.pid));
  }

  /** The folder belongs to this service alone; opening it removes what a crashed process left. */
  static async open(folder: string, bytesMax: number): Promise<Spool> {
    await sweep(folder);
    return new Spool(folder, bytesMax);
  }

  /** Spools the whole stream, or nothing if it fails. */
  async take({ pulled, rest }: Pick<ChunkSource, 'pulled' | 'rest'>, caller: string): Promise<readonly SpooledChunk[]> {
    const taken: SpooledChunk[] = [];
    try {
      for (const chunk of pulled) taken.push(await this.#write(chunk, taken, caller));
      for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
        taken.push(await this.#write(next.value, taken, caller));
      }
      return taken;
    } catch (error) {
      await rest.return?.().catch(() => {});
      await this.remove(taken);
      throw error;
    }
  }

  /** A source of the chunks, to be read once. Chunks without rows are skipped, except one that provides the schema. */
  async read(chunks: readonly SpooledChunk[]): Promise<ChunkSource> {
    const filled = chunks.filter(({ rows }) => rows > 0);
    const read = filled.length > 0 ? filled : chunks.slice(0, 1);
    return { ...(await pullChunks({ chunks: readChunks(read) }, 0)), isLong: read.length > 1 };
  }

  async remove(chunks: readonly SpooledChunk[]): Promise<void> {
    for (const { path, bytes, caller } of chunks) {
      // The sweep at the next start removes files that could not be deleted.
      await rm(path, { force: true }).catch(() => {});
      this.#usedBytes.add(caller, -bytes);
    }
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #write(chunk: ArrowChunk, taken: readonly SpooledChunk[], caller: string): Promise<SpooledChunk> {
    const { file, rows, batches } = chunk;
    const bytes = file.length;
    try {
      this.#reserve(bytes, taken, caller);
      this.#files += 1;
      const spooled = { path: join(this.#folder, `${this.#files}.arrow`), bytes, rows, batches, caller };
      try {
        await mkdir(this.#folder, { recursive: true });
        await writeFile(spooled.path, file);
        return spooled;
      } catch (cause) {
        await this.remove([spooled]);
        const message = 'The server could not buffer the rows on disk.';
        throw new ServiceError('ServiceUnavailable', message, { cause, retryAfterSeconds: 30 });
      }
    } finally {
      chunk.release();
    }
  }

  #reserve(bytes: number, taken: readonly SpooledChunk[], caller: string): void {
    const ownBytes = taken.reduce((sum, chunk) => sum + chunk.bytes, bytes);
    const callerBytesMax = CALLER_SHARE * this.#bytesMax;
    if (ownBytes > callerBytesMax) {
      const message = `The rows need more than ${formatByteLimit(callerBytesMax)} of disk space before they are written.`;
      const hint = 'Send them in several requests, or ask an operator to raise engine.spoolBytesMax.';
      throw new ServiceError('PayloadTooLarge', message, { hint });
    }
    if (this.#usedBytes.of(caller) + bytes > callerBytesMax) {
      const message = `Uploads of this caller use ${formatByteLimit(callerBytesMax)} of disk space.`;
      const hint = 'Complete or abort some, or try again when they are finished.';
      throw new ServiceError('ServiceUnavailable', message, { hint, retryAfterSeconds: 5 });
    }
    if (this.#usedBytes.total + bytes > this.#bytesMax) {
      const message = 'Other requests use the disk space for uploads.';
      const hint = 'Try again when they are finished.';
      throw new ServiceError('ServiceUnavailable', message, { hint, retryAfterSeconds: 5 });
    }
    this.#usedBytes.add(caller, bytes);
  }
}

async function* readChunks(chunks: readonly SpooledChunk[]): AsyncGenerator<ArrowChunk> {
  for (const { path, rows, batches } of chunks) {
    const file = await readFile(path);
    yield { file, rows, batches, nullColumns: new Set(), release: () => {} };
  }
}

/** Removes folders of processes that have ended; one with our own id is from before a reboot. */
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
