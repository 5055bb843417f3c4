/**
 * Runs work one at a time. Callers during a run share the next one, because the running one may have begun too early.
 */
export class SharedRuns<Value> {
  readonly #work: () => Promise<Value>;
  #running: Promise<Value> | undefined;
  #next: Promise<Value> | undefined;

  constructor(work: () => Promise<Value>) {
    this.#work = work;
  }

  /** The result of a run that begins after this call. */
  async run(): Promise<Value> {
    this.#next ??= this.#startNext();
    return this.#next;
  }

  /** Resolves when every run requested before has ended. */
  async settled(): Promise<void> {
    await this.#next?.catch(() => {});
    await this.#running?.catch(() => {});
  }

  async #startNext(): Promise<Value> {
    await this.#running?.catch(() => {});
    this.#next = undefined;
    this.#running = this.#work();
    return this.#running;
  }
}
