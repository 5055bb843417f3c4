import { ServiceError } from '../../errors/service-error.ts';
import { CallerCounts } from '../../model/limits/caller-counts.ts';
import { once } from '../../model/time/once.ts';
import { perCallerMax } from './admission-control.ts';
import type { ReleaseSlot } from './admission-control.ts';

interface CallerSlotsOptions {
  readonly slotsMax: number;
  readonly reservedPercent: number;
  /** The path of the requests, for refusal messages. */
  readonly path: string;
}

/** Bounds concurrent requests, in total and per caller, without a queue. */
export class CallerSlots {
  readonly #options: CallerSlotsOptions;
  readonly #perCallerMax: number;
  readonly #running = new CallerCounts();

  constructor(options: CallerSlotsOptions) {
    this.#options = options;
    this.#perCallerMax = perCallerMax(options.slotsMax, options.reservedPercent);
  }

  /** Checks the caller's share first: a caller that has used it up must not be told that the server is busy. */
  enter(caller: string): ReleaseSlot {
    const { slotsMax, path } = this.#options;
    const own = this.#running.of(caller);
    if (own >= this.#perCallerMax) throw tooMany(`${own} requests of this caller to ${path}`);
    if (this.#running.total >= slotsMax) throw tooMany(`${slotsMax} requests to ${path}`);
    this.#running.add(caller, 1);
    return once(() => this.#running.add(caller, -1));
  }
}

function tooMany(what: string): ServiceError {
  return new ServiceError('ServiceUnavailable', `The server is already handling ${what}.`, {
    hint: 'Try again after the time in Retry-After.',
    retryAfterSeconds: 1,
  });
}
