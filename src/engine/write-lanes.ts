import { ServiceError } from '../errors/service-error.ts';
import type { EngineLimits } from '../model/limits.ts';
import { placeKey } from '../model/table.ts';
import type { Place } from '../model/table.ts';

export type LaneLimits = Pick<EngineLimits, 'laneWaitingMax' | 'laneWaitSeconds'>;

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

/** Who waits for one table, in order. A lane exists only while somebody writes. */
type Lane = Turn[];

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
    return [...this.#lanes.values()].reduce((sum, lane) => sum + lane.length, 0);
  }

  /** Whether anybody waits behind the write whose turn it is. */
  isAwaited(place: Place): boolean {
    return (this.#lanes.get(placeKey(place)) ?? []).length > 0;
  }

  /** For the write whose turn it is: takes the next one out of the lane if that is a rider and wanted. */
  takeNext<Taken extends Rider<unknown>>(
    place: Place,
    isWanted: (rider: Rider<unknown>) => rider is Taken,
  ): Taken | undefined {
    const lane = this.#lanes.get(placeKey(place)) ?? [];
    const rider = lane[0]?.rider;
    if (rider === undefined || !isWanted(rider)) return undefined;
    this.#startNext(lane, 'taken along');
    return rider;
  }

  async #enter(key: string, waiting: Waiting<unknown>): Promise<'own turn' | 'taken along'> {
    const lane = this.#lanes.get(key);
    if (lane === undefined) {
      this.#lanes.set(key, []);
      return 'own turn';
    }
    if (lane.length >= this.#limits.laneWaitingMax) throw laneFull(this.#limits.laneWaitingMax);
    return this.#waitInLane(lane, waiting);
  }

  async #waitInLane(lane: Lane, { rider, leaving }: Waiting<unknown>): Promise<'own turn' | 'taken along'> {
    const { laneWaitSeconds } = this.#limits;
    const gone = leaving?.();
    return new Promise((resolve, reject) => {
      const giveUp = (error: ServiceError): void => {
        const index = lane.indexOf(turn);
        if (index >= 0) lane.splice(index, 1);
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
      lane.push(turn);
      gone?.addEventListener('abort', onGone, { once: true });
      if (gone?.aborted === true) onGone();
    });
  }

  #leave(key: string): void {
    const lane = this.#lanes.get(key);
    if (lane === undefined || !this.#startNext(lane, 'own turn')) this.#lanes.delete(key);
  }

  #startNext(lane: Lane, how: 'own turn' | 'taken along'): boolean {
    const next = lane.shift();
    if (next === undefined) return false;
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
