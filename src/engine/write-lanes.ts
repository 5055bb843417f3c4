import { ServiceError } from '../errors/service-error.ts';
import type { EngineLimits } from '../model/limits.ts';
import { placeKey } from '../model/table.ts';
import type { Place } from '../model/table.ts';

export type LaneLimits = Pick<EngineLimits, 'laneWaitingMax' | 'laneWaitSeconds'>;

interface Turn {
  readonly start: () => void;
  readonly timer: NodeJS.Timeout;
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

  async run<Value>(place: Place, work: () => Promise<Value>): Promise<Value> {
    const key = placeKey(place);
    await this.#enter(key);
    try {
      return await work();
    } finally {
      this.#leave(key);
    }
  }

  async #enter(key: string): Promise<void> {
    const lane = this.#lanes.get(key);
    if (lane === undefined) {
      this.#lanes.set(key, []);
      return;
    }
    if (lane.length >= this.#limits.laneWaitingMax) throw laneFull(this.#limits.laneWaitingMax);
    await this.#waitInLane(lane);
  }

  async #waitInLane(lane: Lane): Promise<void> {
    const { laneWaitSeconds } = this.#limits;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        lane.splice(lane.indexOf(turn), 1);
        reject(waitedTooLong(laneWaitSeconds));
      }, laneWaitSeconds * 1000);
      const turn: Turn = { start: resolve, timer };
      lane.push(turn);
    });
  }

  #leave(key: string): void {
    const next = this.#lanes.get(key)?.shift();
    if (next === undefined) {
      this.#lanes.delete(key);
      return;
    }
    clearTimeout(next.timer);
    next.start();
  }
}

function laneFull(waitingMax: number): ServiceError {
  return new ServiceError('ServiceUnavailable', `${waitingMax} writes are already waiting for this table.`, {
    hint: 'Send fewer writes at once.',
    retryAfterSeconds: 1,
  });
}

function waitedTooLong(seconds: number): ServiceError {
  return new ServiceError('ServiceUnavailable', `The write waited ${seconds} seconds for its turn at this table.`, {
    hint: 'Send fewer writes at once.',
    retryAfterSeconds: 1,
  });
}
