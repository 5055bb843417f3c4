/**
 * What a value may be, as far as its only writer can know: a write that was acknowledged took effect, one whose answer
 * was lost took effect as a whole or not at all.
 */
export class Known {
  #possible: Set<string>;

  constructor(initial: string) {
    this.#possible = new Set([initial]);
  }

  acknowledged(value: string): void {
    this.#possible = new Set([value]);
  }

  unknown(value: string): void {
    this.#possible.add(value);
  }

  allows(observed: string): boolean {
    return this.#possible.has(observed);
  }

  describe(): string {
    return [...this.#possible].join(' or ');
  }
}

/** A number that only grows by one: what was acknowledged is its least value, what is unknown may come on top. */
export class KnownCount {
  least = 0;
  most = 0;

  acknowledged(): void {
    this.least += 1;
    this.most += 1;
  }

  unknown(): void {
    this.most += 1;
  }
}
