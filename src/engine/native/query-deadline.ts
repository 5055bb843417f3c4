import { ServiceError } from '../../errors/service-error.ts';

/** How long a caller waits for a query, and whether it still does. */
export interface QueryTimeout {
  readonly seconds: number | undefined;
  readonly signal: AbortSignal;
  /** Whose bounds count the query; absent for work of the service. */
  readonly caller?: string;
}

/** Whose queries those without a caller are. */
export const SERVICE = '';

/**
 * The time that a query may keep its caller waiting, in one wait or in several. Between two waits the clock stops: a slow
 * reader is not the engine's fault.
 */
export class QueryDeadline {
  readonly #seconds: number;
  readonly #signal: AbortSignal | undefined;
  readonly #orphans: OrphanedQueries;
  readonly caller: string;
  #remainingMilliseconds: number;
  #orphaned: Promise<unknown> | undefined;

  /** For a query that begins now, unless too many orphaned ones are still running. */
  constructor(secondsMax: number, orphans: OrphanedQueries, timeout?: QueryTimeout) {
    this.caller = timeout?.caller ?? SERVICE;
    orphans.requireCapacity(this.caller);
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
    refusal.catch(() => this.leave(work));
    try {
      return await Promise.race([work, refusal]);
    } finally {
      stop?.();
      this.#remainingMilliseconds -= performance.now() - startedAt;
    }
  }

  /** The caller waits no more for what has begun. */
  leave(work: Promise<unknown>): void {
    this.#orphans.add(work, this.caller);
    this.#orphaned = work;
  }

  /** At once, unless the query still runs as an orphan: then at its end. */
  whenOver(release: () => void): void {
    if (this.#orphaned === undefined) release();
    else this.#orphaned.then(release, release);
  }
}

export interface OrphanLimits {
  readonly queriesMax: number;
  readonly perCallerMax: number;
}

/**
 * Queries whose caller left or timed out. They take processor and memory until they end, so their number is bounded: of
 * each caller first, which then limits only that caller.
 */
export class OrphanedQueries {
  readonly #limits: OrphanLimits;
  /** By caller; none is 0. */
  readonly #counts = new Map<string, number>();
  #count = 0;

  constructor(limits: OrphanLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#count;
  }

  add(work: Promise<unknown>, caller: string): void {
    this.#change(caller, 1);
    const end = (): void => this.#change(caller, -1);
    work.then(end, end);
  }

  requireCapacity(caller: string): void {
    // The usual case, in every query.
    if (this.#count === 0) return;
    const { queriesMax, perCallerMax } = this.#limits;
    const own = this.#counts.get(caller) ?? 0;
    if (own >= perCallerMax) throw stillRunning(`${own} queries of this caller`);
    if (this.#count >= queriesMax) throw stillRunning(`${this.#count} queries`);
  }

  #change(caller: string, by: 1 | -1): void {
    this.#count += by;
    const own = (this.#counts.get(caller) ?? 0) + by;
    if (own === 0) this.#counts.delete(caller);
    else this.#counts.set(caller, own);
  }
}

function stillRunning(what: string): ServiceError {
  return new ServiceError(
    'ServiceUnavailable',
    `${what} that took too long, or whose clients left, are still running.`,
    { hint: 'Try again after the time in Retry-After.', retryAfterSeconds: 5 },
  );
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
