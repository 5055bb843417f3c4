import { ServiceError } from '../../errors/service-error.ts';
import { CallerCounts } from '../../model/limits/caller-counts.ts';
import { once } from '../../model/time/once.ts';
import { perCallerMax } from './admission-control.ts';
import type { ReleaseSlot } from './admission-control.ts';

interface CallerSlotsOptions {
  readonly slotsMax: number;
  readonly reservedPercent: number;
  /** Where the requests go, for the message of a refusal. */
  readonly path: string;
}

/** Bounds concurrent requests, all of them and those of one caller. None waits. */
export class CallerSlots {
  readonly #options: CallerSlotsOptions;
  readonly #perCallerMax: number;
  readonly #running = new CallerCounts();

  constructor(options: CallerSlotsOptions) {
    this.#options = options;
    this.#perCallerMax = perCallerMax(options.slotsMax, options.reservedPercent);
  }

  /** The share of the caller first: one that has used it up must not be told that the server is busy. */
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
