/** How much of something is in use, in total and per caller. */
export class CallerCounts {
  #total = 0;
  /** No entry is 0. */
  readonly #counts = new Map<string, number>();

  get total(): number {
    return this.#total;
  }

  of(caller: string): number {
    return this.#counts.get(caller) ?? 0;
  }

  add(caller: string, count: number): void {
    this.#total += count;
    const own = this.of(caller) + count;
    if (own === 0) this.#counts.delete(caller);
    else this.#counts.set(caller, own);
  }
}
