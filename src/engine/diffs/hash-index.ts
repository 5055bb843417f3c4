/** Stands for "no position". */
export const NONE = -1;

/**
 * Finds positions of rows by hash. Hashes may collide, so each chain contains only rows that equal each other.
 * Positions are added from last to first, and taken from first to last.
 */
export class HashIndex {
  readonly #mask: number;
  /** One row of each chain. It stays when the chain is empty, so that probing continues past it. */
  readonly #samples: Int32Array;
  readonly #heads: Int32Array;
  readonly #next: Int32Array;
  readonly #isPresent: Uint8Array;
  #hasRepeats = false;

  constructor(rowsMax: number) {
    const slots = 2 ** Math.ceil(Math.log2(Math.max(2 * rowsMax, 2)));
    this.#mask = slots - 1;
    this.#samples = new Int32Array(slots).fill(NONE);
    this.#heads = new Int32Array(slots).fill(NONE);
    this.#next = new Int32Array(rowsMax).fill(NONE);
    this.#isPresent = new Uint8Array(rowsMax);
  }

  /** Whether a chain had more than one row. */
  get hasRepeats(): boolean {
    return this.#hasRepeats;
  }

  has(row: number): boolean {
    return this.#isPresent[row] === 1;
  }

  add(row: number, isEqual: (other: number) => boolean, hash: number): void {
    const slot = this.#findSlot(isEqual, hash);
    const head = this.#heads[slot] ?? NONE;
    if (head !== NONE) this.#hasRepeats = true;
    this.#samples[slot] = row;
    this.#next[row] = head;
    this.#heads[slot] = row;
    this.#isPresent[row] = 1;
  }

  /** Removes the first row that equals the wanted one, and returns its position. */
  take(isEqual: (other: number) => boolean, hash: number): number {
    const slot = this.#findSlot(isEqual, hash);
    const head = this.#heads[slot] ?? NONE;
    if (head === NONE) return NONE;
    this.#heads[slot] = this.#next[head] ?? NONE;
    this.#isPresent[head] = 0;
    return head;
  }

  /** The slot of the chain, or a free one. */
  #findSlot(isEqual: (other: number) => boolean, hash: number): number {
    for (let slot = hash & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const sample = this.#samples[slot] ?? NONE;
      if (sample === NONE || isEqual(sample)) return slot;
    }
  }
}
