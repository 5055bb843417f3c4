import { openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { catalogUnavailable } from '../../model/refusals.ts';
import { SharedRuns } from '../../model/time/shared-runs.ts';

/**
 * Makes commits durable by syncing SQLite's write-ahead log, like `synchronous = full`, but separately from the commit:
 * concurrent commits share one sync, and the next transaction runs meanwhile. SQLite's locks are on its other files, so
 * closing this one releases none.
 */
export class WriteAheadLog {
  readonly #path: string;
  readonly #empty: () => Promise<boolean>;
  #file: Promise<FileHandle> | undefined;
  /** A running sync may have started before a commit; the next one includes it. */
  readonly #syncs = new SharedRuns(async () => this.#syncNow());
  #failure: unknown;
  #count = 0;

  /** `empty` moves the whole log to the database file and syncs it; false if it could not. */
  constructor(path: string, empty: () => Promise<boolean>) {
    this.#path = path;
    this.#empty = empty;
  }

  get count(): number {
    return this.#count;
  }

  /** Refuses while a commit may not be on disk. Free unless a sync has failed. */
  async requireDurable(): Promise<void> {
    if (this.#failure !== undefined) await this.sync();
  }

  /** Afterwards, everything committed before this call is on disk. */
  async sync(): Promise<void> {
    return this.#syncs.run();
  }

  async close(): Promise<void> {
    await this.#syncs.settled();
    await (await this.#file)?.close();
    this.#file = undefined;
  }

  async #syncNow(): Promise<void> {
    if (this.#failure === undefined) {
      const file = await this.#open();
      try {
        await file.datasync();
        this.#count += 1;
        return;
      } catch (error) {
        this.#failure = error;
      }
    }
    // After a failed sync the log is not trusted, even if a later sync succeeds: its contents are written again.
    if (!(await this.#empty().catch(() => false))) throw catalogUnavailable(this.#failure);
    this.#failure = undefined;
  }

  /** A file that cannot be opened for lack of descriptors does not count as a failed sync. */
  async #open(): Promise<FileHandle> {
    this.#file ??= open(this.#path, 'r');
    try {
      return await this.#file;
    } catch (error) {
      this.#file = undefined;
      throw catalogUnavailable(error);
    }
  }
}

/** The header of the index, which SQLite compares too: https://www.sqlite.org/walformat.html, section 2.1. */
const HEADER_BYTES = 48;

/** The index of the write-ahead log. Every commit, by any connection or process, changes its header. */
export class LogIndex {
  /** Never closed: that would drop the locks of all connections of this process to the catalog. */
  readonly #descriptor: number | undefined;
  #header = Buffer.alloc(HEADER_BYTES);
  #latest = Buffer.alloc(HEADER_BYTES);

  constructor(catalogFile: string) {
    // On other platforms SQLite may lock the bytes to be read.
    this.#descriptor = process.platform === 'linux' ? openWhenPresent(`${catalogFile}-shm`) : undefined;
  }

  /** False if there was, or may have been, a commit since the last call. Cheaper than a statement. */
  isUnchanged(): boolean {
    if (this.#descriptor === undefined) return false;
    if (readSync(this.#descriptor, this.#latest, 0, HEADER_BYTES, 0) < HEADER_BYTES) return false;
    if (this.#latest.equals(this.#header)) return true;
    this.#keepLatest();
    return false;
  }

  /**
   * Call after a commit of this process: the next `isUnchanged` then ignores it, unless another process has also
   * committed since the last call. A header that is being written differs from its final state.
   */
  passOwnCommit(): void {
    if (this.#descriptor === undefined) return;
    if (readSync(this.#descriptor, this.#latest, 0, HEADER_BYTES, 0) < HEADER_BYTES) return;
    if (readCommits(this.#latest) === (readCommits(this.#header) + 1) % 2 ** 32) this.#keepLatest();
  }

  #keepLatest(): void {
    [this.#header, this.#latest] = [this.#latest, this.#header];
  }
}

/**
 * The number of commits so far. The header is in native byte order, which is little-endian on all platforms that have
 * an engine.
 */
function readCommits(header: Buffer): number {
  return header.readUInt32LE(8);
}

function openWhenPresent(file: string): number | undefined {
  try {
    return openSync(file, 'r');
  } catch {
    return undefined;
  }
}
