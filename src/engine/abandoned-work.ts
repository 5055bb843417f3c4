import { ServiceError } from '../errors/service-error.ts';

/**
 * Work of the engine that nobody waits for any more: its caller left, or its time was up. The engine cannot be told to
 * stop, so it goes on and takes processor and memory until it ends. There may be only so much of it.
 */
export class AbandonedWork {
  readonly #worksMax: number;
  #count = 0;

  constructor(worksMax: number) {
    this.#worksMax = worksMax;
  }

  get count(): number {
    return this.#count;
  }

  add(work: Promise<unknown>): void {
    this.#count += 1;
    const end = (): void => {
      this.#count -= 1;
    };
    work.then(end, end);
  }

  /** To be asked before more work is begun that may be abandoned in its turn. */
  requireFew(): void {
    if (this.#count < this.#worksMax) return;
    throw new ServiceError(
      'ServiceUnavailable',
      `${this.#count} queries that took too long, or whose callers left, are still running.`,
      { hint: 'Try again after the time in Retry-After.', retryAfterSeconds: 5 },
    );
  }
}
