interface Waiting<Work, Value> {
  readonly work: Work;
  readonly succeed: (value: Value) => void;
  readonly fail: (error: unknown) => void;
}

/** How many share a transaction. */
const SHARED_MAX = 64;

/** Each transaction waits for the disk; what comes meanwhile waits for it too, and then shares the next one. */
export class SharedTransactions<Work, Value> {
  readonly #transact: (works: readonly Work[]) => Promise<readonly Value[]>;
  readonly #waiting: Waiting<Work, Value>[] = [];
  #isRunning = false;

  constructor(transact: (works: readonly Work[]) => Promise<readonly Value[]>) {
    this.#transact = transact;
  }

  async run(work: Work): Promise<Value> {
    return new Promise((succeed, fail) => {
      this.#waiting.push({ work, succeed, fail });
      if (!this.#isRunning) void this.#runAll();
    });
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#settle(this.#waiting.splice(0, SHARED_MAX));
    this.#isRunning = false;
  }

  async #settle(shared: readonly Waiting<Work, Value>[]): Promise<void> {
    try {
      const values = await this.#transact(shared.map(({ work }) => work));
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- There is a value for each work.
      for (const [index, { succeed }] of shared.entries()) succeed(values[index] as Value);
    } catch (error) {
      // Nothing was done. One of them may be at fault.
      for (const each of shared) {
        if (shared.length > 1) await this.#settle([each]);
        else each.fail(error);
      }
    }
  }
}
