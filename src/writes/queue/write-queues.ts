import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../errors/service-error.ts';
import type { EngineLimits } from '../../model/limits.ts';
import { locationKey } from '../../model/table.ts';
import type { TableLocation } from '../../model/table.ts';
import { formatCount } from '../../model/value-text.ts';

export type QueueLimits = Pick<
  EngineLimits,
  'queueWaitingMax' | 'queueWaitingPerCallerMax' | 'queueWaitSeconds' | 'queueHoldSeconds' | 'batchGatherMilliseconds'
>;

interface Queued {
  /** Goes ahead of all waiting work, and is never refused. */
  readonly isNext?: boolean;
  /** A write that the batch at the head of the queue may include. It then does not run separately. */
  readonly candidate?: object;
  /** Fires when the client disconnects. Requested only if the write has to wait; a write that has begun continues. */
  readonly signal?: () => AbortSignal;
  /** Who sent the write; absent for internal work. */
  readonly caller?: string;
}

type Start = 'alone' | 'in batch';

interface Waiter {
  readonly candidate: object | undefined;
  readonly caller: string | undefined;
  readonly start: (how: Start) => void;
  /** Stops the timeout and the watch for the client's disconnect. */
  readonly stop: () => void;
}

/** Exists only while its table is being written. */
interface Queue {
  /** When the write at its head began. */
  startedAt: number;
  readonly waiting: Waiter[];
  /** Called when another write starts to wait. */
  onArrival: () => void;
}

interface PastBatch {
  readonly members: number;
  readonly endedAt: number;
}

const PAST_BATCHES_MAX = 1000;

/**
 * One write at a time for each table, in order of arrival. Concurrent writes conflict in the engine and are retried:
 * eight at once reach a third of the sequential throughput, and some kinds are refused.
 */
export class WriteQueues {
  readonly #limits: QueueLimits;
  readonly #queues = new Map<string, Queue>();
  /** Of tables whose last batch had several members. */
  readonly #pastBatches = new LRUCache<string, PastBatch>({ max: PAST_BATCHES_MAX });

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /** Runs work with exclusive access to the table. */
  async run<Value>(
    location: TableLocation,
    work: () => Promise<Value>,
    options: Pick<Queued, 'isNext' | 'caller'> = {},
  ): Promise<Value> {
    const key = locationKey(location);
    await this.#enter(key, options);
    try {
      return await work();
    } finally {
      this.#leave(key);
    }
  }

  /** A write that runs its batch at the head of the queue, or joins the batch of the write ahead of it. */
  async runBatch(
    location: TableLocation,
    work: () => Promise<void>,
    queued: Required<Pick<Queued, 'candidate' | 'signal' | 'caller'>>,
  ): Promise<void> {
    const key = locationKey(location);
    const how = await this.#enter(key, queued);
    if (how === 'in batch') return;
    try {
      await work();
    } finally {
      this.#leave(key);
    }
  }

  /** Tables that are being written. */
  get running(): number {
    return this.#queues.size;
  }

  /** Waiting writes, of all tables. */
  get waiting(): number {
    return [...this.#queues.values()].reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  /** Whether a write waits behind the one at the head. */
  isAwaited(location: TableLocation): boolean {
    return (this.#queues.get(locationKey(location))?.waiting ?? []).length > 0;
  }

  /**
   * Called at the head of the queue after a batch of several members: waits briefly for those clients to send their
   * next write. Closed-loop clients would otherwise alternate between small and large batches. A lone writer never
   * waits.
   */
  async gather(location: TableLocation): Promise<void> {
    const key = locationKey(location);
    const queue = this.#queues.get(key);
    const past = this.#pastBatches.get(key);
    const { batchGatherMilliseconds } = this.#limits;
    if (queue === undefined || past === undefined || batchGatherMilliseconds === 0) return;
    if (performance.now() - past.endedAt > 2 * batchGatherMilliseconds) return;
    if (queue.waiting.length >= past.members - 1) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, batchGatherMilliseconds);
      queue.onArrival = () => {
        if (queue.waiting.length < past.members - 1) return;
        clearTimeout(timer);
        resolve();
      };
    });
    queue.onArrival = () => {};
  }

  /** Called at the head of the queue: how many writes shared the commit. */
  recordBatch(location: TableLocation, members: number): void {
    const key = locationKey(location);
    if (members < 2) this.#pastBatches.delete(key);
    else this.#pastBatches.set(key, { members, endedAt: performance.now() });
  }

  /** Throws if a write has blocked others for so long that the engine must have lost it. */
  requireMoving(): void {
    const { queueHoldSeconds } = this.#limits;
    const stuckSince = performance.now() - queueHoldSeconds * 1000;
    for (const { startedAt, waiting } of this.#queues.values()) {
      if (waiting.length > 0 && startedAt < stuckSince) {
        const message = `Another write has blocked the table for more than ${queueHoldSeconds} s.`;
        throw new ServiceError('ServiceUnavailable', message);
      }
    }
  }

  /** Called at the head of the queue: removes the next waiter if it is a candidate that the batch accepts. */
  takeNext<Taken extends object>(
    location: TableLocation,
    isWanted: (candidate: object) => candidate is Taken,
  ): Taken | undefined {
    const queue = this.#queues.get(locationKey(location));
    const candidate = queue?.waiting[0]?.candidate;
    if (queue === undefined || candidate === undefined || !isWanted(candidate)) return undefined;
    startNext(queue, 'in batch');
    return candidate;
  }

  async #enter(key: string, { candidate, signal, caller, isNext = false }: Queued): Promise<Start> {
    const queue = this.#queues.get(key);
    if (queue === undefined) {
      this.#queues.set(key, { startedAt: performance.now(), waiting: [], onArrival: () => {} });
      return 'alone';
    }
    const { waiting } = queue;
    const { queueWaitSeconds } = this.#limits;
    if (!isNext) this.#requireSpace(waiting, caller);
    const gone = signal?.();
    return new Promise((resolve, reject) => {
      const giveUp = (error: ServiceError): void => {
        const index = waiting.indexOf(waiter);
        if (index >= 0) waiting.splice(index, 1);
        waiter.stop();
        reject(error);
      };
      const onGone = (): void => giveUp(clientGone());
      const onLate = (): void =>
        giveUp(overloaded(`The write waited in the write queue of this table for ${queueWaitSeconds} s.`));
      const timer = isNext ? undefined : setTimeout(onLate, queueWaitSeconds * 1000);
      const stop = (): void => {
        clearTimeout(timer);
        gone?.removeEventListener('abort', onGone);
      };
      const waiter: Waiter = { candidate, caller, start: resolve, stop };
      if (isNext) waiting.unshift(waiter);
      else waiting.push(waiter);
      gone?.addEventListener('abort', onGone, { once: true });
      if (gone?.aborted === true) onGone();
      else queue.onArrival();
    });
  }

  /** Refuses one caller before the queue is full, to leave space for others. */
  #requireSpace(waiting: readonly Waiter[], caller: string | undefined): void {
    const { queueWaitingMax, queueWaitingPerCallerMax } = this.#limits;
    if (waiting.length >= queueWaitingMax) {
      throw overloaded(`${formatCount(queueWaitingMax)} writes are already in the write queue of this table.`);
    }
    if (caller === undefined || waiting.length < queueWaitingPerCallerMax) return;
    const own = waiting.filter((each) => each.caller === caller).length;
    if (own < queueWaitingPerCallerMax) return;
    throw overloaded(`${own} writes of this caller are already in the write queue of this table.`);
  }

  #leave(key: string): void {
    const queue = this.#queues.get(key);
    if (queue === undefined || !startNext(queue, 'alone')) this.#queues.delete(key);
  }
}

function startNext(queue: Queue, how: Start): boolean {
  const next = queue.waiting.shift();
  if (next === undefined) return false;
  if (how === 'alone') queue.startedAt = performance.now();
  next.stop();
  next.start(how);
  return true;
}

function clientGone(): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The client disconnected before its write began; nothing was written.');
}

function overloaded(message: string): ServiceError {
  return new ServiceError('ServiceUnavailable', message, { hint: 'Send fewer writes at once.', retryAfterSeconds: 1 });
}
