import { locationKey } from '../../model/table.ts';
import type { TableLocation } from '../../model/table.ts';

interface Reader {
  readonly table: string;
  readonly version: number;
  /** On the clock of `performance.now`. */
  usedAt: number;
}

interface TrackedResult {
  readonly location: TableLocation;
  readonly version: number;
  readonly files: AsyncIterable<Buffer>;
  /** What a failure means for the reader. */
  readonly explain: (error: unknown) => Promise<unknown>;
}

/** A reader that was idle for longer no longer counts: it was never closed. */
const IDLE_MILLISECONDS_MAX = 3_600_000;

/** Results that clients are still reading. The engine opens files late, so cleanup must keep their versions. */
export class OpenReaders {
  readonly #readers = new Set<Reader>();
  readonly #now: () => number;

  constructor(now = (): number => performance.now()) {
    this.#now = now;
  }

  /** Passes the files on; the version counts as being read until their end, or until the reader stops. */
  track({ location, version, files, explain }: TrackedResult): AsyncIterable<Buffer> {
    const reader = this.#add(location, version, this.#now());
    const onUse = (): void => {
      reader.usedAt = this.#now();
    };
    const release = (): void => void this.#readers.delete(reader);
    return { [Symbol.asyncIterator]: () => releasing(files[Symbol.asyncIterator](), { onUse, release, explain }) };
  }

  /** The version counts as being read until the returned function is called. */
  hold(location: TableLocation, version: number): () => void {
    const reader = this.#add(location, version, Infinity);
    return () => void this.#readers.delete(reader);
  }

  oldestVersion(location: TableLocation): number | undefined {
    const table = locationKey(location);
    const since = this.#now() - IDLE_MILLISECONDS_MAX;
    const open = [...this.#readers].filter((each) => each.table === table && each.usedAt >= since);
    return open.length === 0 ? undefined : Math.min(...open.map(({ version }) => version));
  }

  #add(location: TableLocation, version: number, usedAt: number): Reader {
    const reader = { table: locationKey(location), version, usedAt };
    this.#readers.add(reader);
    return reader;
  }
}

/** Not a generator: `return` on one that was never started does not run its `finally`. */
function releasing(
  files: AsyncIterator<Buffer>,
  { onUse, release, explain }: Pick<TrackedResult, 'explain'> & Readonly<Record<'onUse' | 'release', () => void>>,
): AsyncIterator<Buffer> {
  return {
    async next() {
      onUse();
      try {
        const next = await files.next();
        if (next.done === true) release();
        return next;
      } catch (error) {
        release();
        throw await explain(error);
      }
    },
    async return() {
      release();
      await files.return?.();
      return { done: true, value: undefined };
    },
  };
}
