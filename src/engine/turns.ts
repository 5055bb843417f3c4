/** So much at once, the rest in the order of coming. */
export class Turns {
  readonly #atOnceMax: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(atOnceMax: number) {
    this.#atOnceMax = atOnceMax;
  }

  async run<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#running < this.#atOnceMax) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The next one takes the place.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
