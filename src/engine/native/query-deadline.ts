import { ServiceError } from '../../errors/service-error.ts';

/**
 * The time that a piece of work may keep its caller waiting, in one go or in several. Between two waits it stands still:
 * a reader who takes long is not the engine's fault.
 */
export class QueryDeadline {
  readonly #seconds: number;
  readonly #signal: AbortSignal | undefined;
  readonly #abandoned: OrphanedQueries | undefined;
  #leftMilliseconds: number;

  constructor(seconds: number, signal?: AbortSignal, abandoned?: OrphanedQueries) {
    this.#abandoned = abandoned;
    this.#seconds = seconds;
    this.#signal = signal;
    this.#leftMilliseconds = seconds * 1000;
  }

  /** The engine cannot be told to stop, so work that is late goes on by itself; only its caller stops waiting. */
  async wait<Value>(work: Promise<Value>): Promise<Value> {
    const startedAt = performance.now();
    const { promise, stop } = this.#refusal();
    const abandon = (): void => this.#abandoned?.add(work);
    promise.catch(abandon);
    try {
      return await Promise.race([work, promise]);
    } finally {
      stop();
      this.#leftMilliseconds -= performance.now() - startedAt;
    }
  }

  #refusal(): { readonly promise: Promise<never>; readonly stop: () => void } {
    const signal = this.#signal;
    let timer: NodeJS.Timeout | undefined;
    let leave: (() => void) | undefined;
    const promise = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(tookTooLong(this.#seconds)), Math.max(0, this.#leftMilliseconds));
      leave = () => reject(callerLeft());
      signal?.addEventListener('abort', leave, { once: true });
      if (signal?.aborted === true) leave();
    });
    const stop = (): void => {
      clearTimeout(timer);
      if (leave !== undefined) signal?.removeEventListener('abort', leave);
    };
    return { promise, stop };
  }
}

function tookTooLong(seconds: number): ServiceError {
  return new ServiceError('ServiceUnavailable', `The query took longer than the ${seconds} seconds that it may take.`, {
    hint: 'Ask for fewer rows, or add an index.',
    retryAfterSeconds: 1,
  });
}

function callerLeft(): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The caller left before the query was done.');
}

/**
 * Work of the engine that nobody waits for any more: its caller left, or its time was up. The engine cannot be told to
 * stop, so it goes on and takes processor and memory until it ends. There may be only so much of it.
 */
export class OrphanedQueries {
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
