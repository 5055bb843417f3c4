import { readFixedColumn } from '../../arrow/results/row-picker.ts';
import type { AlignedRun } from './compare-plan.ts';
import { scanAddresses } from './version-rows.ts';
import type { OpenVersion, Stop } from './version-rows.ts';

/** Ids of rows that only one of the versions has. */
export interface UnsharedIds {
  readonly from: IdList;
  readonly to: IdList;
}

const CAPACITY_MIN = 64;

/** A compact list of row ids: an array would store each as an object. */
export class IdList {
  #ids = new BigUint64Array(CAPACITY_MIN);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(id: bigint): void {
    if (this.#length === this.#ids.length) {
      const grown = new BigUint64Array(2 * this.#length);
      grown.set(this.#ids);
      this.#ids = grown;
    }
    this.#ids[this.#length] = id;
    this.#length += 1;
  }

  slice(start: number, end: number): bigint[] {
    return [...this.#ids.subarray(start, Math.min(end, this.#length))];
  }
}

/**
 * Adds the ids of a run. Both versions have the same files there, and so the same rows, except those that one of them
 * has deleted.
 */
export async function findUnsharedIds(
  { from, to, stop }: { readonly from: OpenVersion; readonly to: OpenVersion; readonly stop: Stop },
  run: AlignedRun,
  unshared: UnsharedIds,
): Promise<void> {
  const ofFrom = run.fragments.map((pair) => pair.from);
  const ofTo = run.fragments.map((pair) => pair.to);
  const one = new AddressCursor(scanAddresses(from.native, run.from, stop), ofFrom);
  const other = new AddressCursor(scanAddresses(to.native, run.to, stop), ofTo);
  for (;;) {
    if (one.isAtEnd) await one.load();
    if (other.isAtEnd) await other.load();
    const difference = one.place - other.place;
    // Both are at their ends: the difference of two infinities is NaN.
    if (Number.isNaN(difference)) return;
    if (difference < 0) unshared.from.add(one.id);
    if (difference > 0) unshared.to.add(other.id);
    if (difference <= 0) one.advance();
    if (difference >= 0) other.advance();
  }
}

const ADDRESS_BYTES = 8;
const POSITIONS = 2 ** 32;

/** Iterates over rows in scan order. */
class AddressCursor {
  readonly #files: AsyncGenerator<Buffer>;
  /** The index of each fragment in the run, by fragment id. */
  readonly #order: ReadonlyMap<number, number>;
  #addresses: Buffer = Buffer.alloc(0);
  #ids: Buffer = Buffer.alloc(0);
  #at = 0;
  #isOver = false;

  constructor(files: AsyncGenerator<Buffer>, fragments: readonly number[]) {
    this.#files = files;
    this.#order = new Map(fragments.map((id, index) => [id, index]));
  }

  /** Whether the next file must be loaded. */
  get isAtEnd(): boolean {
    return this.#at >= this.#addresses.length && !this.#isOver;
  }

  /** The position of the row in the run, counting deleted rows; infinite at the end. */
  get place(): number {
    if (this.#isOver) return Infinity;
    const fragment = this.#order.get(this.#addresses.readUInt32LE(this.#at + 4));
    if (fragment === undefined) throw new Error('a scan does not follow the order of the manifest');
    return fragment * POSITIONS + this.#addresses.readUInt32LE(this.#at);
  }

  get id(): bigint {
    return this.#ids.readBigUInt64LE(this.#at);
  }

  advance(): void {
    this.#at += ADDRESS_BYTES;
  }

  async load(): Promise<void> {
    while (this.isAtEnd) {
      const next = await this.#files.next();
      if (next.done === true) this.#isOver = true;
      else {
        this.#addresses = readFixedColumn(next.value, '_rowaddr').values;
        this.#ids = readFixedColumn(next.value, '_rowid').values;
        this.#at = 0;
      }
    }
  }
}
