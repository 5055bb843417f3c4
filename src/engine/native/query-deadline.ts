import { ServiceError } from '../../errors/service-error.ts';
import { CallerCounts } from '../../model/limits/caller-counts.ts';

/** How long a caller waits for a query, and whether it is still waiting. */
export interface QueryTimeout {
  readonly seconds: number | undefined;
  /** Created lazily: most queries never need it. */
  readonly signal: () => AbortSignal;
  /** The caller whose limits count the query; absent for internal work. */
  readonly caller?: string;
  /** What to do about a query that takes too long. */
  readonly hint?: string;
}

/** The caller of internal queries. */
export const SERVICE = '';

/** A query runs this long before a disconnect of its client is noticed; most have ended by then. */
const SHORT_MILLISECONDS = 50;

/**
 * The time that a caller may wait for a query, in one wait or several. The clock stops between waits: a slow reader is
 * not the engine's fault.
 */
export class QueryDeadline {
  readonly #seconds: number;
  readonly #timeout: QueryTimeout | undefined;
  readonly #orphans: OrphanedQueries;
  readonly caller: string;
  #remainingMilliseconds: number;
  #orphaned: Promise<unknown> | undefined;

  /** Begins the deadline of a query; refuses if too many orphaned queries are still running. */
  constructor(secondsMax: number, orphans: OrphanedQueries, timeout?: QueryTimeout) {
    this.caller = timeout?.caller ?? SERVICE;
    orphans.requireCapacity(this.caller);
    this.#seconds = Math.min(timeout?.seconds ?? secondsMax, secondsMax);
    this.#timeout = timeout;
    this.#orphans = orphans;
    this.#remainingMilliseconds = this.#seconds * 1000;
  }

  /** The engine cannot cancel a query: a late one continues as an orphan, and only its caller stops waiting. */
  async wait<Value>(work: Promise<Value>): Promise<Value> {
    const startedAt = performance.now();
    return new Promise<Value>((resolve, reject) => {
      let signal: AbortSignal | undefined;
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#remainingMilliseconds -= performance.now() - startedAt;
      };
      const refuse = (error: ServiceError): void => {
        end();
        this.leave(work);
        reject(error);
      };
      const onAbort = (): void => refuse(callerLeft());
      const onLate = (): void => refuse(tookTooLong(this.#seconds, this.#timeout?.hint));
      const watchClient = (): void => {
        timer = setTimeout(onLate, this.#remainingMilliseconds - SHORT_MILLISECONDS);
        signal = this.#timeout?.signal();
        signal?.addEventListener('abort', onAbort, { once: true });
        if (signal?.aborted === true) onAbort();
      };
      const isShort = this.#remainingMilliseconds <= SHORT_MILLISECONDS;
      let timer = isShort
        ? setTimeout(onLate, Math.max(0, this.#remainingMilliseconds))
        : setTimeout(watchClient, SHORT_MILLISECONDS);
      work.then(end, end);
      work.then(resolve, reject);
    });
  }

  /** The caller no longer waits for this work. */
  leave(work: Promise<unknown>): void {
    this.#orphans.add(work, this.caller);
    this.#orphaned = work;
  }

  /** Calls `release` at once, or, if the query still runs as an orphan, when it ends. */
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
 * Queries whose caller disconnected or timed out. They use CPU and memory until they end, so their number is bounded,
 * first per caller, so that one caller does not affect others.
 */
export class OrphanedQueries {
  readonly #limits: OrphanLimits;
  readonly #counts = new CallerCounts();

  constructor(limits: OrphanLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#counts.total;
  }

  add(work: Promise<unknown>, caller: string): void {
    this.#counts.add(caller, 1);
    const end = (): void => this.#counts.add(caller, -1);
    work.then(end, end);
  }

  requireCapacity(caller: string): void {
    // The fast path, because this runs for every query.
    if (this.count === 0) return;
    const { queriesMax, perCallerMax } = this.#limits;
    const own = this.#counts.of(caller);
    if (own >= perCallerMax) throw stillRunning(`${own} queries of this caller`);
    if (this.count >= queriesMax) throw stillRunning(`${this.count} queries`);
  }
}

function stillRunning(what: string): ServiceError {
  return new ServiceError(
    'ServiceUnavailable',
    `${what} that timed out, or whose clients disconnected, are still running.`,
    { hint: 'Try again after the time in Retry-After.', retryAfterSeconds: 5 },
  );
}

function tookTooLong(seconds: number, hint = 'Request fewer rows, or create an index.'): ServiceError {
  return new ServiceError('ServiceUnavailable', `The query exceeded its time limit of ${seconds} s.`, {
    hint,
    retryAfterSeconds: 1,
  });
}

function callerLeft(): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The client disconnected before the query finished.');
}
