/**
 * The possible values as far as the only writer can know: an acknowledged write took effect; one whose reply was lost
 * took effect completely or not at all.
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

/**
 * A number that only grows by one: acknowledged increments are its minimum; those with unknown outcome may be added.
 */
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
