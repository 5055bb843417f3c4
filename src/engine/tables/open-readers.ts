import { locationKey } from '../../model/table.ts';
import type { TableLocation } from '../../model/table.ts';

interface Reader {
  readonly table: string;
  readonly version: number;
  readonly sinceMilliseconds: number;
}

/** An older reader no longer counts: its owner never closed it. */
const READER_MILLISECONDS_MAX = 3_600_000;

/** Results that clients are still reading. The engine opens files late, so cleanup must keep the versions they belong to. */
export class OpenReaders {
  readonly #readers = new Set<Reader>();

  /** Passes the files on; the version counts as being read until their end, or until the reader stops. */
  track(location: TableLocation, version: number, files: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    const release = this.hold(location, version);
    return { [Symbol.asyncIterator]: () => releasing(files[Symbol.asyncIterator](), release) };
  }

  /** The version counts as being read until the returned function is called. */
  hold(location: TableLocation, version: number): () => void {
    const reader = { table: locationKey(location), version, sinceMilliseconds: performance.now() };
    this.#readers.add(reader);
    return () => void this.#readers.delete(reader);
  }

  oldestVersion(location: TableLocation): number | undefined {
    const table = locationKey(location);
    const since = performance.now() - READER_MILLISECONDS_MAX;
    const open = [...this.#readers].filter((each) => each.table === table && each.sinceMilliseconds >= since);
    return open.length === 0 ? undefined : Math.min(...open.map(({ version }) => version));
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
