import { ServiceError } from '../../errors/service-error.ts';
import type { Permission } from '../../model/access.ts';
import type { HttpLimits } from '../../model/limits.ts';
import { once } from '../../model/time/once.ts';
import type { Operation } from '../../operations/operation.ts';
import { FairQueue } from './fair-queue.ts';
import type { Waiting } from './fair-queue.ts';

/** Each class of work has its own slots: uploads, for example, do not starve reads. */
export const WORK_CLASSES = ['read', 'write', 'ingest', 'admin'] as const;

export type WorkClass = (typeof WORK_CLASSES)[number];

/** Releases the slot. Safe to call twice. */
export type ReleaseSlot = () => void;

export interface AdmissionRequest {
  readonly work: WorkClass;
  readonly caller: string;
  /** Fires when the client disconnects. Requested only if the request has to wait. */
  readonly signal: () => AbortSignal;
}

interface AdmissionOptions {
  readonly limits: HttpLimits;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Called if a class is full and a request has to wait, so that a slow client may be evicted. */
  readonly onFull?: (work: WorkClass) => void;
}

/**
 * If the oldest request has waited for more than this share of the longest wait, that is overload, not a burst: new
 * requests are refused at once. No more may wait than can be served in that time, or in twice that time for callers
 * with nothing in the queue.
 */
const OVERLOAD_SHARE = 0.25;

/**
 * Admission control: bounds the concurrency of each class of work. In a burst, requests wait briefly, callers in
 * round-robin; beyond that, load is shed immediately.
 */
export class AdmissionControl {
  readonly #options: AdmissionOptions;
  readonly #pools: Readonly<Record<WorkClass, SlotPool>>;
  readonly #allBusy: ServiceError;
  #running = 0;
  #nextClass = 0;
  #recheck: NodeJS.Timeout | undefined;

  constructor(options: AdmissionOptions) {
    const { limits } = options;
    this.#options = options;
    this.#allBusy = busyWith(`${limits.requestsMax} requests`);
    const pool = (work: WorkClass, slotsMax: number, slowMax = Infinity): SlotPool =>
      new SlotPool({ work, slotsMax, slowMax, reservedPercent: limits.reservedPercent, now: options.now });
    this.#pools = {
      read: pool('read', limits.readsMax, limits.slowReadsPerCallerMax),
      write: pool('write', limits.writesMax),
      ingest: pool('ingest', limits.uploadsMax),
      admin: pool('admin', limits.administrationMax),
    };
  }

  /** Synchronous while a slot is free. */
  enter(request: AdmissionRequest): ReleaseSlot | Promise<ReleaseSlot> {
    const pool = this.#pools[request.work];
    // No waiting request could use this slot: each release starts every request that may run, and so does
    // `#recheckSoon`.
    if (this.#hasSlot(pool) && pool.mayStart(request.caller)) return this.#start(pool, request.caller);
    this.#options.onFull?.(request.work);
    this.#requireQueueSpace(pool, request.caller);
    return this.#wait(pool, request);
  }

  /**
   * The refusal that another request would get at once, checked before any work is done for it. Counts as a refusal.
   */
  findRefusal({ work, caller }: Pick<AdmissionRequest, 'work' | 'caller'>): ServiceError | undefined {
    const pool = this.#pools[work];
    if (pool.waiting.length === 0 || (this.#hasSlot(pool) && pool.mayStart(caller))) return undefined;
    return this.#isOverloaded(pool, caller) ? this.#refuse(pool, caller) : undefined;
  }

  /** `refused` counts since the start, including requests that timed out in the queue. */
  counts(work: WorkClass): { readonly running: number; readonly waiting: number; readonly refused: number } {
    const { running, waiting, refused } = this.#pools[work];
    return { running, waiting: waiting.length, refused };
  }

  #hasSlot(pool: SlotPool): boolean {
    return pool.running < pool.slotsMax && this.#running < this.#options.limits.requestsMax;
  }

  #start(pool: SlotPool, caller: string): ReleaseSlot {
    const started = pool.start(caller);
    this.#running += 1;
    return once(() => {
      pool.rate?.observe(this.#options.now(), started.at, pool);
      pool.end(caller, started);
      this.#running -= 1;
      this.#startWaiting();
      if (pool.waiting.length === 0) pool.fullSince = undefined;
      else this.#options.onFull?.(pool.work);
    });
  }

  /** If the queue is full, the caller with the most requests in it loses its newest one. */
  #requireQueueSpace(pool: SlotPool, caller: string): void {
    if (this.#isOverloaded(pool, caller)) throw this.#refuse(pool, caller);
    if (pool.waiting.length < this.#options.limits.waitingMax) return;
    const dropped = pool.waiting.newestOfLongest(caller);
    dropped?.refuse(this.#refuse(pool, dropped.caller));
  }

  #isOverloaded(pool: SlotPool, caller: string): boolean {
    const { limits, now } = this.#options;
    const overloadMilliseconds = limits.queueSeconds * 1000 * OVERLOAD_SHARE;
    const oldest = pool.waiting.oldestOf(caller);
    if (oldest !== undefined && now() - oldest.since >= overloadMilliseconds) return true;
    const ahead = pool.waiting.aheadOf(caller);
    const allowed = oldest === undefined ? 2 * overloadMilliseconds : overloadMilliseconds;
    // The estimate is unreliable until the pool has been full for a while; until then, one request per slot may wait.
    const isUnreliable = pool.fullSince === undefined || now() - pool.fullSince < overloadMilliseconds;
    const expected = (ahead + 1) * (pool.rate?.millisecondsPerRequest ?? 0);
    if (expected > allowed && !(isUnreliable && ahead < pool.slotsMax)) return true;
    return pool.waiting.length >= limits.waitingMax && pool.waiting.newestOfLongest(caller) === undefined;
  }

  async #wait(pool: SlotPool, { caller, signal }: AdmissionRequest): Promise<ReleaseSlot> {
    const { limits, now } = this.#options;
    return new Promise<ReleaseSlot>((resolve, reject) => {
      const clientLeft = signal();
      const settle = (finish: () => void): void => {
        pool.waiting.remove(entry);
        clearTimeout(timer);
        clientLeft.removeEventListener('abort', onClientLeft);
        finish();
      };
      const entry: Waiting = {
        caller,
        since: now(),
        start: (release) => settle(() => resolve(release)),
        refuse: (error) => settle(() => reject(error)),
      };
      const onClientLeft = (): void =>
        entry.refuse(new ServiceError('ServiceUnavailable', 'The client disconnected while its request waited.'));
      const timer = setTimeout(() => entry.refuse(this.#refuse(pool, caller)), limits.queueSeconds * 1000);
      pool.waiting.add(entry);
      pool.fullSince ??= entry.since;
      clientLeft.addEventListener('abort', onClientLeft, { once: true });
      if (clientLeft.aborted) onClientLeft();
      else this.#recheckSoon();
    });
  }

  /**
   * Once other callers have been inactive for a while, a caller with slow reads may start more. No release triggers
   * this, so a timer does.
   */
  #recheckSoon(): void {
    if (this.#recheck !== undefined) return;
    this.#recheck = setTimeout(() => {
      this.#recheck = undefined;
      this.#startWaiting();
      if (WORK_CLASSES.some((work) => this.#pools[work].waiting.length > 0)) this.#recheckSoon();
    }, ACTIVE_MILLISECONDS).unref();
  }

  /** Assigns the slots shared by all classes in round-robin. */
  #startWaiting(): void {
    for (let idle = 0; idle < WORK_CLASSES.length; idle += 1) {
      const work = WORK_CLASSES[this.#nextClass % WORK_CLASSES.length] ?? 'read';
      this.#nextClass += 1;
      const pool = this.#pools[work];
      const next = this.#hasSlot(pool) ? pool.waiting.take(pool.mayStart) : undefined;
      if (next === undefined) continue;
      next.start(this.#start(pool, next.caller));
      idle = -1;
    }
  }

  #refuse(pool: SlotPool, caller: string): ServiceError {
    pool.refused += 1;
    if (pool.running >= pool.slotsMax) return pool.busy;
    return pool.mayStart(caller) ? this.#allBusy : pool.callerBusy;
  }
}

/** The remaining slots are a reserve, so that a new caller is not stuck behind slow requests of another. */
export function perCallerMax(slotsMax: number, reservedPercent: number): number {
  return slotsMax - Math.floor((slotsMax * reservedPercent) / 100);
}

const CLASS_OF_PERMISSION: Readonly<Record<Permission, WorkClass>> = {
  see: 'read',
  read: 'read',
  write: 'write',
  manage: 'write',
  administer: 'admin',
};

export function toWorkClass({ body, permission }: Pick<Operation, 'body' | 'permission'>): WorkClass {
  return body.kind === 'arrow' ? 'ingest' : CLASS_OF_PERMISSION[permission];
}

/** Created once: under overload, the stack trace of an error costs more than the rest of the refusal. */
function busyWith(what: string, of = ''): ServiceError {
  return new ServiceError('ServiceUnavailable', `The server is already busy with ${what}, the maximum ${of}at once.`, {
    hint: 'Try again after the time in Retry-After.',
    retryAfterSeconds: 1,
  });
}

interface Started {
  readonly at: number;
}

interface SlotPoolOptions {
  readonly work: WorkClass;
  readonly slotsMax: number;
  readonly slowMax: number;
  readonly reservedPercent: number;
  readonly now: () => number;
}

/** A request that runs longer than this is slow. */
const SLOW_MILLISECONDS = 100;
/** A caller counts as active for this long after its last request. */
const ACTIVE_MILLISECONDS = 1000;

class SlotPool {
  readonly work: WorkClass;
  readonly slotsMax: number;
  readonly busy: ServiceError;
  readonly callerBusy: ServiceError;
  /** Absent for uploads, whose duration depends on their senders. */
  readonly rate: ServiceRate | undefined;
  readonly waiting = new FairQueue();
  /** Since when all slots are taken and requests wait. */
  fullSince: number | undefined;
  running = 0;
  refused = 0;
  readonly #options: SlotPoolOptions;
  readonly #perCallerMax: number;
  /** By caller, oldest first; no set is empty. */
  readonly #runningOf = new Map<string, Set<Started>>();
  /** The caller of the last start, and the last different one before it. */
  #lastCaller = { caller: '', at: -Infinity };
  #otherCaller = { caller: '', at: -Infinity };

  constructor(options: SlotPoolOptions) {
    const { work, slotsMax, reservedPercent } = options;
    this.#options = options;
    this.work = work;
    this.slotsMax = slotsMax;
    this.#perCallerMax = perCallerMax(slotsMax, reservedPercent);
    this.busy = busyWith(`${slotsMax} ${CLASS_NAMES[work]}`);
    this.callerBusy = busyWith(`${CLASS_NAMES[work]} of this caller`, 'for one caller ');
    this.rate = work === 'ingest' ? undefined : new ServiceRate();
  }

  /** Considers only the caller's own requests. */
  readonly mayStart = (caller: string): boolean => {
    const own = this.#runningOf.get(caller);
    if (own === undefined || own.size < Math.min(this.#options.slowMax, this.#perCallerMax)) return true;
    return own.size < this.#perCallerMax && (!this.#hasOthers(caller) || this.#countSlow(own) < this.#options.slowMax);
  };

  start(caller: string): Started {
    const started = { at: this.#options.now() };
    this.running += 1;
    const own = this.#runningOf.get(caller);
    if (own === undefined) this.#runningOf.set(caller, new Set([started]));
    else own.add(started);
    if (this.#lastCaller.caller !== caller) this.#otherCaller = this.#lastCaller;
    this.#lastCaller = { caller, at: started.at };
    return started;
  }

  end(caller: string, started: Started): void {
    this.running -= 1;
    const own = this.#runningOf.get(caller);
    own?.delete(started);
    if (own?.size === 0) this.#runningOf.delete(caller);
  }

  #hasOthers(caller: string): boolean {
    if (this.#runningOf.size > 1) return true;
    const other = this.#lastCaller.caller === caller ? this.#otherCaller : this.#lastCaller;
    return this.#options.now() - other.at < ACTIVE_MILLISECONDS;
  }

  #countSlow(own: ReadonlySet<Started>): number {
    const slowSince = this.#options.now() - SLOW_MILLISECONDS;
    let count = 0;
    for (const { at } of own) {
      if (at > slowSince) break;
      count += 1;
    }
    return count;
  }
}

const CLASS_NAMES: Readonly<Record<WorkClass, string>> = {
  read: 'reads',
  write: 'writes',
  ingest: 'uploads',
  admin: 'administration requests',
};

const SMOOTHING = 0.1;
/** One request of several minutes must not make the next hundred look hopeless. */
const OBSERVED_MILLISECONDS_MAX = 1000;

/** Service-rate estimate: how often a slot of a full pool is released, as an exponential moving average. */
class ServiceRate {
  #estimate: number | undefined;
  #lastFullAt: number | undefined;

  /** 0 before the first observation. */
  get millisecondsPerRequest(): number {
    return this.#estimate ?? 0;
  }

  /**
   * In a full pool, the interval between completions is measured directly; otherwise it is the duration divided by the
   * concurrency.
   */
  observe(now: number, startedAt: number, { running, fullSince }: SlotPool): void {
    const isFull = fullSince !== undefined;
    const observed = isFull && this.#lastFullAt !== undefined ? now - this.#lastFullAt : (now - startedAt) / running;
    this.#lastFullAt = isFull ? now : undefined;
    const bounded = Math.min(observed, OBSERVED_MILLISECONDS_MAX);
    this.#estimate = this.#estimate === undefined ? bounded : this.#estimate + SMOOTHING * (bounded - this.#estimate);
  }
}
