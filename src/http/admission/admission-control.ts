import { ServiceError } from '../../errors/service-error.ts';
import type { HttpLimits } from '../../model/limits.ts';
import { FairQueue } from './fair-queue.ts';
import type { Waiter } from './fair-queue.ts';
import type { Operation } from '../../operations/operation.ts';

/** Gives the place back. Safe to call twice. */
export type Leave = () => void;

export interface AdmissionRequest {
  readonly work: WorkClass;
  readonly caller: string;
  /** Fires when the client has gone; asked for only when the request has to wait. */
  readonly signal: () => AbortSignal;
}

export type AdmissionLimits = Pick<
  HttpLimits,
  'requestsMax' | 'readsMax' | 'writesMax' | 'uploadsMax' | 'administrationMax' | 'waitingMax' | 'queueSeconds'
>;

export interface AdmissionOptions {
  readonly limits: AdmissionLimits;
  /** Milliseconds on a clock that only runs forward. */
  readonly now: () => number;
  /** Told when a class is full and somebody has to wait: perhaps one of those who are in can be shown out. */
  readonly onFull?: (work: WorkClass) => void;
}

interface Waiting extends Waiter {
  readonly start: (leave: Leave) => void;
  readonly refuse: (error: ServiceError) => void;
}

interface Gate {
  readonly work: WorkClass;
  readonly placesMax: number;
  readonly busy: ServiceError;
  readonly waiting: FairQueue<Waiting>;
  /** Not of uploads: they go at the pace of their slowSenders, which says nothing of ours. */
  readonly pace: ServiceRate | undefined;
  /** Since when all places are taken and others wait. */
  fullSince: number | undefined;
  running: number;
  refused: number;
}

/**
 * A queue that stands for this part of the longest wait does not come from a burst: there is too much work, and who comes
 * now is told so at once instead of after a wait in vain. No more is let wait than can be served in that time, or in twice
 * the time for who has nothing waiting yet.
 */
const STANDING_SHARE = 0.25;

/**
 * How much the service takes on at once, by the kind of work. What comes in a burst waits a little, the callers in turn;
 * what is too much is refused without a wait.
 */
export class AdmissionControl {
  readonly #options: AdmissionOptions;
  readonly #gates: Readonly<Record<WorkClass, Gate>>;
  readonly #allBusy: ServiceError;
  #running = 0;
  #nextClass = 0;

  constructor(options: AdmissionOptions) {
    const { limits } = options;
    this.#options = options;
    this.#allBusy = busyWith(`${limits.requestsMax} requests`);
    this.#gates = {
      read: gate('read', limits.readsMax, 'reads'),
      write: gate('write', limits.writesMax, 'writes'),
      ingest: gate('ingest', limits.uploadsMax, 'uploads'),
      admin: gate('admin', limits.administrationMax, 'requests of administrators'),
    };
  }

  /** At once, without a promise, when there is room. */
  enter(admissionRequest: AdmissionRequest): Leave | Promise<Leave> {
    const own = this.#gates[admissionRequest.work];
    if (own.waiting.length === 0 && this.#hasRoom(own)) return this.#start(own);
    this.#options.onFull?.(admissionRequest.work);
    this.#makeWay(own, admissionRequest.caller);
    return this.#wait(own, admissionRequest);
  }

  /** Why one more would be refused without a wait; to be asked before anything is done for it. Counts as a refusal. */
  findRefusal({ work, caller }: Pick<AdmissionRequest, 'work' | 'caller'>): ServiceError | undefined {
    const own = this.#gates[work];
    return own.waiting.length > 0 && this.#isTooMuch(own, caller) ? this.#refuse(own) : undefined;
  }

  get running(): number {
    return this.#running;
  }

  waiting(work: WorkClass): number {
    return this.#gates[work].waiting.length;
  }

  runningOf(work: WorkClass): number {
    return this.#gates[work].running;
  }

  /** Since the start, those who waited in vain included. */
  refused(work: WorkClass): number {
    return this.#gates[work].refused;
  }

  #hasRoom(own: Gate): boolean {
    return own.running < own.placesMax && this.#running < this.#options.limits.requestsMax;
  }

  #start(own: Gate): Leave {
    const startedAt = this.#options.now();
    own.running += 1;
    this.#running += 1;
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      const now = this.#options.now();
      own.pace?.left({ now, startedAt, running: own.running, isFull: own.fullSince !== undefined });
      own.running -= 1;
      this.#running -= 1;
      this.#startWaiting();
      if (own.waiting.length === 0) own.fullSince = undefined;
      else this.#options.onFull?.(own.work);
    };
  }

  /** Refuses, unless one more may wait. When the queue is full, whoever has most in it gives way. */
  #makeWay(own: Gate, caller: string): void {
    if (this.#isTooMuch(own, caller)) throw this.#refuse(own);
    if (own.waiting.length < this.#options.limits.waitingMax) return;
    own.waiting.newestOfLongest(caller)?.refuse(this.#refuse(own));
  }

  #isTooMuch(own: Gate, caller: string): boolean {
    const { limits, now } = this.#options;
    const standing = limits.queueSeconds * 1000 * STANDING_SHARE;
    const oldest = own.waiting.oldestOf(caller);
    if (oldest !== undefined && now() - oldest.since >= standing) return true;
    const ahead = own.waiting.aheadOf(caller);
    const allowed = oldest === undefined ? 2 * standing : standing;
    // How fast places come free is a guess until it was seen for a while; as many as there are places may try their luck.
    const isGuess = own.fullSince === undefined || now() - own.fullSince < standing;
    if ((ahead + 1) * (own.pace?.milliseconds ?? 0) > allowed && !(isGuess && ahead < own.placesMax)) return true;
    return own.waiting.length >= limits.waitingMax && own.waiting.newestOfLongest(caller) === undefined;
  }

  async #wait(own: Gate, { caller, signal }: AdmissionRequest): Promise<Leave> {
    const { limits, now } = this.#options;
    return new Promise<Leave>((resolve, reject) => {
      const gone = signal();
      const end = (): void => {
        own.waiting.remove(entry);
        clearTimeout(timer);
        gone.removeEventListener('abort', onGone);
      };
      const refuse = (error: ServiceError): void => {
        end();
        reject(error);
      };
      const start = (leave: Leave): void => {
        end();
        resolve(leave);
      };
      const onGone = (): void => refuse(callerLeft());
      const entry: Waiting = { caller, since: now(), start, refuse };
      const timer = setTimeout(() => refuse(this.#refuse(own)), limits.queueSeconds * 1000);
      own.waiting.add(entry);
      own.fullSince ??= entry.since;
      gone.addEventListener('abort', onGone, { once: true });
      if (gone.aborted) onGone();
    });
  }

  /** The classes take turns for what all of them share. */
  #startWaiting(): void {
    for (let idle = 0; idle < WORK_CLASSES.length; idle += 1) {
      const work = WORK_CLASSES[this.#nextClass % WORK_CLASSES.length] ?? 'read';
      this.#nextClass += 1;
      const own = this.#gates[work];
      const next = this.#hasRoom(own) ? own.waiting.take() : undefined;
      if (next === undefined) continue;
      next.start(this.#start(own));
      idle = -1;
    }
  }

  #refuse(own: Gate): ServiceError {
    own.refused += 1;
    return own.running < own.placesMax ? this.#allBusy : own.busy;
  }
}

/** Made once: in a flood, the stack that an error collects costs more than all else about a refusal. */
function busyWith(what: string): ServiceError {
  return new ServiceError(
    'ServiceUnavailable',
    `The service is already busy with ${what}, the most that it takes at once.`,
    { hint: 'Try again after the time in Retry-After.', retryAfterSeconds: 1 },
  );
}

function gate(work: WorkClass, placesMax: number, what: string): Gate {
  return {
    work,
    placesMax,
    busy: busyWith(`${placesMax} ${what}`),
    waiting: new FairQueue(),
    pace: work === 'ingest' ? undefined : new ServiceRate(),
    fullSince: undefined,
    running: 0,
    refused: 0,
  };
}

function callerLeft(): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The caller left before its turn came.');
}

/** One who leaves a gate, in milliseconds on a clock that only runs forward. */
export interface Leaving {
  readonly now: number;
  readonly startedAt: number;
  /** How many had places, this one included. */
  readonly running: number;
  /** Whether all places were taken and others were waiting. */
  readonly isFull: boolean;
}

/** What each new observation counts. */
const SHARE = 0.1;
/** One request that took minutes must not make the next hundred look hopeless. */
const LONGEST_MILLISECONDS = 1000;

/** How often, of late, places of a gate come free when all of them are taken. */
export class ServiceRate {
  #milliseconds: number | undefined;
  #lastFullAt: number | undefined;

  /** Between two who leave; 0 as long as nobody has. */
  get milliseconds(): number {
    return this.#milliseconds ?? 0;
  }

  /** While there is room, those who leave say how fast the work goes, and how many shared it. */
  left({ now, startedAt, running, isFull }: Leaving): void {
    const observed = isFull && this.#lastFullAt !== undefined ? now - this.#lastFullAt : (now - startedAt) / running;
    this.#lastFullAt = isFull ? now : undefined;
    const bounded = Math.min(observed, LONGEST_MILLISECONDS);
    this.#milliseconds =
      this.#milliseconds === undefined ? bounded : this.#milliseconds + SHARE * (bounded - this.#milliseconds);
  }
}

/** What a request asks the service to do, as far as its share of it goes: one kind of work must not starve another. */
export type WorkClass = 'read' | 'write' | 'ingest' | 'admin';

export const WORK_CLASSES: readonly WorkClass[] = ['read', 'write', 'ingest', 'admin'];

export function toWorkClass({ body, permission }: Pick<Operation, 'body' | 'permission'>): WorkClass {
  if (body.kind === 'arrow') return 'ingest';
  switch (permission) {
    case 'see':
    case 'read':
      return 'read';
    case 'write':
    case 'manage':
      return 'write';
    case 'administer':
      return 'admin';
  }
}

/** Whether it changes tables or what is known of them. Keys and grants can be changed whatever state tables are in. */
export function isDataWrite({ permission }: Pick<Operation, 'permission'>): boolean {
  return permission === 'write' || permission === 'manage';
}
