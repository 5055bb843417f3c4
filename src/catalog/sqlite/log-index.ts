import { openSync, readSync } from 'node:fs';

/** The header of the index, which SQLite compares too: https://www.sqlite.org/walformat.html, section 2.1. */
const HEADER_BYTES = 48;

/** The index of the write-ahead log. Every commit, of whatever connection or process, changes its header. */
export class LogIndex {
  /** Never closed: that would drop the locks of all connections that this process has to the catalog. */
  readonly #descriptor: number | undefined;
  #header = Buffer.alloc(HEADER_BYTES);
  #latest = Buffer.alloc(HEADER_BYTES);

  constructor(catalogFile: string) {
    // Elsewhere SQLite may lock what is to be read.
    this.#descriptor = process.platform === 'linux' ? openWhenPresent(`${catalogFile}-shm`) : undefined;
  }

  /** False when there was a commit since the last call, or may have been. Cheaper than a statement. */
  isUnchanged(): boolean {
    if (this.#descriptor === undefined) return false;
    if (readSync(this.#descriptor, this.#latest, 0, HEADER_BYTES, 0) < HEADER_BYTES) return false;
    if (this.#latest.equals(this.#header)) return true;
    [this.#header, this.#latest] = [this.#latest, this.#header];
    return false;
  }
}

function openWhenPresent(file: string): number | undefined {
  try {
    return openSync(file, 'r');
  } catch {
    return undefined;
  }
}
