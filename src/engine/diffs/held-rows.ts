import type { HashedRow } from '../../arrow/results/row-hash.ts';

/** An upper bound per compared row: its hashes and id, growth, and its index slot. */
export const HELD_ROW_BYTES = 80;

const CAPACITY_MIN = 256;
/** Two words for the key, two for the row. */
const WORDS = 4;

/** Hashes and ids of rows, by position. */
export class HeldRows {
  #words: Int32Array;
  #ids: BigUint64Array;
  #length = 0;

  constructor(capacity: number) {
    this.#words = new Int32Array(WORDS * capacity);
    this.#ids = new BigUint64Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  add({ key0, key1, row0, row1, id }: HashedRow): number {
    const at = this.#length;
    if (at === this.#ids.length) this.#grow();
    const words = this.#words;
    words[WORDS * at] = key0;
    words[WORDS * at + 1] = key1;
    words[WORDS * at + 2] = row0;
    words[WORDS * at + 3] = row1;
    this.#ids[at] = id;
    this.#length += 1;
    return at;
  }

  removeLast(): void {
    this.#length -= 1;
  }

  id(at: number): bigint {
    return this.#ids[at] ?? 0n;
  }

  hashKey(at: number): number {
    return this.#words[WORDS * at] ?? 0;
  }

  hashRow(at: number): number {
    return this.hashKey(at) ^ Math.imul(this.#words[WORDS * at + 2] ?? 0, 0x9e37_79b1);
  }

  hasKeyOf(at: number, others: HeldRows, other: number): boolean {
    const [one, two] = [WORDS * at, WORDS * other];
    return this.#words[one] === others.#words[two] && this.#words[one + 1] === others.#words[two + 1];
  }

  isEqual(at: number, others: HeldRows, other: number): boolean {
    const [one, two] = [WORDS * at + 2, WORDS * other + 2];
    if (this.#words[one] !== others.#words[two] || this.#words[one + 1] !== others.#words[two + 1]) return false;
    return this.hasKeyOf(at, others, other);
  }

  #grow(): void {
    const capacity = Math.max(CAPACITY_MIN, 2 * this.#ids.length);
    const [words, ids] = [new Int32Array(WORDS * capacity), new BigUint64Array(capacity)];
    words.set(this.#words);
    ids.set(this.#ids);
    [this.#words, this.#ids] = [words, ids];
  }
}
