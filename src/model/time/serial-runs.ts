/** Runs work one at a time for each key, in the order of the calls. */
export class SerialRuns {
  /** The last work of each key that has not ended. */
  readonly #last = new Map<string, Promise<unknown>>();

  async run<Value>(key: string, work: () => Promise<Value>): Promise<Value> {
    const before = this.#last.get(key);
    const running = (async () => {
      await before?.catch(() => {});
      return work();
    })();
    this.#last.set(key, running);
    try {
      return await running;
    } finally {
      if (this.#last.get(key) === running) this.#last.delete(key);
    }
  }
}
