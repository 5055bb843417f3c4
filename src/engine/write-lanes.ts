import { ServiceError } from '../errors/service-error.ts';
import type { EngineLimits } from '../model/limits.ts';
import { placeKey } from '../model/table.ts';
import type { Place } from '../model/table.ts';

export type LaneLimits = Pick<EngineLimits, 'laneWaitingMax' | 'laneWaitSeconds' | 'laneTurnSeconds'>;

/**
 * A write that the one whose turn it is may do along with its own. It then never gets a turn: whoever takes it settles
 * its outcome.
 */
export interface Rider<Value> {
  readonly outcome: Promise<Value>;
}

export interface Waiting<Value> {
  readonly rider?: Rider<Value>;
  /** Fires when the caller has gone; asked for only when the write has to wait. A write that has begun goes on. */
  readonly leaving?: (() => AbortSignal) | undefined;
}

interface Turn {
  readonly rider: Rider<unknown> | undefined;
  readonly start: (how: 'own turn' | 'taken along') => void;
  /** Nothing ends the wait any more but the turn itself. */
  readonly stop: () => void;
}

/** A lane exists only while somebody writes. */
interface Lane {
  /** When the write whose turn it is began. */
  startedAt: number;
  /** Who waits for the table, in order. */
  readonly waiting: Turn[];
}

/**
 * One write at a time for each table, first come, first served. Writes that meet inside the engine run again and again:
 * eight at once have a third of the throughput of one after the other, and some kinds are refused.
 */
export class WriteLanes {
  readonly #limits: LaneLimits;
  readonly #lanes = new Map<string, Lane>();

  constructor(limits: LaneLimits) {
    this.#limits = limits;
  }

  async run<Value>(place: Place, work: () => Promise<Value>, waiting: Waiting<Value> = {}): Promise<Value> {
    const { rider } = waiting;
    const key = placeKey(place);
    const how = await this.#enter(key, waiting);
    if (rider !== undefined && how === 'taken along') return rider.outcome;
    try {
      return await work();
    } finally {
      this.#leave(key);
    }
  }

  /** Tables that are being written. */
  get running(): number {
    return this.#lanes.size;
  }

  /** Writes that wait for their turn. */
  get waiting(): number {
    return [...this.#lanes.values()].reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  /** Whether anybody waits behind the write whose turn it is. */
  isAwaited(place: Place): boolean {
    return (this.#lanes.get(placeKey(place))?.waiting ?? []).length > 0;
  }

  /** Refuses while a write has kept others waiting for so long that the engine must have lost it. */
  requireMoving(): void {
    const { laneTurnSeconds } = this.#limits;
    const stuckSince = performance.now() - laneTurnSeconds * 1000;
    for (const { startedAt, waiting } of this.#lanes.values()) {
      if (waiting.length > 0 && startedAt < stuckSince) throw stuck(laneTurnSeconds);
    }
  }

  /** For the write whose turn it is: takes the next one out of the lane if that is a rider and wanted. */
  takeNext<Taken extends Rider<unknown>>(
    place: Place,
    isWanted: (rider: Rider<unknown>) => rider is Taken,
  ): Taken | undefined {
    const lane = this.#lanes.get(placeKey(place));
    const rider = lane?.waiting[0]?.rider;
    if (lane === undefined || rider === undefined || !isWanted(rider)) return undefined;
    this.#startNext(lane, 'taken along');
    return rider;
  }

  async #enter(key: string, waiting: Waiting<unknown>): Promise<'own turn' | 'taken along'> {
    const lane = this.#lanes.get(key);
    if (lane === undefined) {
      this.#lanes.set(key, { startedAt: performance.now(), waiting: [] });
      return 'own turn';
    }
    if (lane.waiting.length >= this.#limits.laneWaitingMax) throw laneFull(this.#limits.laneWaitingMax);
    return this.#waitInLane(lane, waiting);
  }

  async #waitInLane({ waiting }: Lane, { rider, leaving }: Waiting<unknown>): Promise<'own turn' | 'taken along'> {
    const { laneWaitSeconds } = this.#limits;
    const gone = leaving?.();
    return new Promise((resolve, reject) => {
      const giveUp = (error: ServiceError): void => {
        const index = waiting.indexOf(turn);
        if (index >= 0) waiting.splice(index, 1);
        turn.stop();
        reject(error);
      };
      const onGone = (): void => giveUp(callerLeft());
      const timer = setTimeout(() => giveUp(waitedTooLong(laneWaitSeconds)), laneWaitSeconds * 1000);
      const stop = (): void => {
        clearTimeout(timer);
        gone?.removeEventListener('abort', onGone);
      };
      const turn: Turn = { rider, start: resolve, stop };
      waiting.push(turn);
      gone?.addEventListener('abort', onGone, { once: true });
      if (gone?.aborted === true) onGone();
    });
  }

  #leave(key: string): void {
    const lane = this.#lanes.get(key);
    if (lane === undefined || !this.#startNext(lane, 'own turn')) this.#lanes.delete(key);
  }

  #startNext(lane: Lane, how: 'own turn' | 'taken along'): boolean {
    const next = lane.waiting.shift();
    if (next === undefined) return false;
    if (how === 'own turn') lane.startedAt = performance.now();
    next.stop();
    next.start(how);
    return true;
  }
}

function laneFull(waitingMax: number): ServiceError {
  return new ServiceError('ServiceUnavailable', `${waitingMax} writes are already waiting for this table.`, {
    hint: 'Send fewer writes at once.',
    retryAfterSeconds: 1,
  });
}

function callerLeft(): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The caller left before its write had its turn; nothing was written.');
}

function waitedTooLong(seconds: number): ServiceError {
  return new ServiceError('ServiceUnavailable', `The write waited ${seconds} seconds for its turn at this table.`, {
    hint: 'Send fewer writes at once.',
    retryAfterSeconds: 1,
  });
}

function stuck(seconds: number): ServiceError {
  return new ServiceError('ServiceUnavailable', `A write has kept others waiting for more than ${seconds} seconds.`);
}
