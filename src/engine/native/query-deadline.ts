import { ServiceError } from '../../errors/service-error.ts';

/** How long a caller waits for a query, and whether it still does. */
export interface QueryTimeout {
  readonly seconds: number | undefined;
  readonly signal: AbortSignal;
}

/**
 * The time that a query may keep its caller waiting, in one wait or in several. Between two waits the clock stops: a slow
 * reader is not the engine's fault.
 */
export class QueryDeadline {
  readonly #seconds: number;
  readonly #signal: AbortSignal | undefined;
  readonly #orphans: OrphanedQueries;
  #remainingMilliseconds: number;

  /** For a query that begins now, unless too many orphaned ones are still running. */
  constructor(secondsMax: number, orphans: OrphanedQueries, timeout?: QueryTimeout) {
    orphans.requireCapacity();
    this.#seconds = Math.min(timeout?.seconds ?? secondsMax, secondsMax);
    this.#signal = timeout?.signal;
    this.#orphans = orphans;
    this.#remainingMilliseconds = this.#seconds * 1000;
  }

  /** The engine cannot cancel a query: a late one runs on as an orphan, and only its caller stops waiting. */
  async wait<Value>(work: Promise<Value>): Promise<Value> {
    const startedAt = performance.now();
    const signal = this.#signal;
    let stop: (() => void) | undefined;
    const refusal = new Promise<never>((_, reject) => {
      const timer = setTimeout(() => reject(tookTooLong(this.#seconds)), Math.max(0, this.#remainingMilliseconds));
      const onAbort = (): void => reject(callerLeft());
      signal?.addEventListener('abort', onAbort, { once: true });
      if (signal?.aborted === true) onAbort();
      stop = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
    });
    refusal.catch(() => this.#orphans.add(work));
    try {
      return await Promise.race([work, refusal]);
    } finally {
      stop?.();
      this.#remainingMilliseconds -= performance.now() - startedAt;
    }
  }
}

/** Queries whose caller left or timed out. They take processor and memory until they end, so their number is bounded. */
export class OrphanedQueries {
  readonly #queriesMax: number;
  #count = 0;

  constructor(queriesMax: number) {
    this.#queriesMax = queriesMax;
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

  requireCapacity(): void {
    if (this.#count < this.#queriesMax) return;
    throw new ServiceError(
      'ServiceUnavailable',
      `${this.#count} queries that took too long, or whose callers left, are still running.`,
      { hint: 'Try again after the time in Retry-After.', retryAfterSeconds: 5 },
    );
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
