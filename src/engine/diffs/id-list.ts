const CAPACITY_MIN = 64;

/** Ids of rows, each of which an array would keep as an object. */
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
