/** In place of a position. */
export const NONE = -1;

/**
 * Positions of rows by a hash that others may share: each chain has rows that equal each other. Positions are added from
 * the last to the first, and taken from the first to the last.
 */
export class HashIndex {
  readonly #mask: number;
  /** A row of each chain, which stays when the chain is empty: a search goes on behind it. */
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

  /** Removes the first row that equals the wanted one, and gives its position. */
  take(isEqual: (other: number) => boolean, hash: number): number {
    const slot = this.#findSlot(isEqual, hash);
    const head = this.#heads[slot] ?? NONE;
    if (head === NONE) return NONE;
    this.#heads[slot] = this.#next[head] ?? NONE;
    this.#isPresent[head] = 0;
    return head;
  }

  /** That of the chain, or a free one. */
  #findSlot(isEqual: (other: number) => boolean, hash: number): number {
    for (let slot = hash & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const sample = this.#samples[slot] ?? NONE;
      if (sample === NONE || isEqual(sample)) return slot;
    }
  }
}
