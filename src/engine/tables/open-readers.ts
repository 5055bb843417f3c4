import { locationKey } from '../../model/table.ts';
import type { TableLocation } from '../../model/table.ts';

interface Reader {
  readonly version: number;
  readonly sinceMilliseconds: number;
}

/** An older reader no longer counts: its owner never closed it. */
const READER_MILLISECONDS_MAX = 3_600_000;

/** Results that clients are still reading. The engine opens files late, so cleanup must keep the versions they belong to. */
export class OpenReaders {
  readonly #now: () => number;
  readonly #readers = new Map<string, Set<Reader>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Passes the files on; the version counts as being read until their end, or until the reader stops. */
  track(location: TableLocation, version: number, files: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    const release = this.#add(locationKey(location), { version, sinceMilliseconds: this.#now() });
    return { [Symbol.asyncIterator]: () => releasing(files[Symbol.asyncIterator](), release) };
  }

  oldestVersion(location: TableLocation): number | undefined {
    const since = this.#now() - READER_MILLISECONDS_MAX;
    const versions = [...(this.#readers.get(locationKey(location)) ?? [])]
      .filter(({ sinceMilliseconds }) => sinceMilliseconds >= since)
      .map(({ version }) => version);
    return versions.length === 0 ? undefined : Math.min(...versions);
  }

  #add(key: string, reader: Reader): () => void {
    const readers = this.#readers.get(key) ?? new Set();
    this.#readers.set(key, readers.add(reader));
    return () => {
      readers.delete(reader);
      if (readers.size === 0 && this.#readers.get(key) === readers) this.#readers.delete(key);
    };
  }
}

/** Not a generator: `return` on one that was never started does not run its `finally`. */
function releasing(files: AsyncIterator<Buffer>, release: () => void): AsyncIterator<Buffer> {
  return {
    async next() {
      try {
        const next = await files.next();
        if (next.done === true) release();
        return next;
      } catch (error) {
        release();
        throw error;
      }
    },
    async return() {
      release();
      await files.return?.();
      return { done: true, value: undefined };
    },
  };
}
