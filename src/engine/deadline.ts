import { ServiceError } from '../errors/service-error.ts';
import type { AbandonedWork } from './abandoned-work.ts';

/**
 * The time that a piece of work may keep its caller waiting, in one go or in several. Between two waits it stands still:
 * a reader who takes long is not the engine's fault.
 */
export class EngineTime {
  readonly #seconds: number;
  readonly #signal: AbortSignal | undefined;
  readonly #abandoned: AbandonedWork | undefined;
  #leftMilliseconds: number;

  constructor(seconds: number, signal?: AbortSignal, abandoned?: AbandonedWork) {
    this.#abandoned = abandoned;
    this.#seconds = seconds;
    this.#signal = signal;
    this.#leftMilliseconds = seconds * 1000;
  }

  /** The engine cannot be told to stop, so work that is late goes on by itself; only its caller stops waiting. */
  async wait<Value>(work: Promise<Value>): Promise<Value> {
    const startedAt = performance.now();
    const { promise, stop } = this.#refusal();
    const abandon = (): void => this.#abandoned?.add(work);
    promise.catch(abandon);
    try {
      return await Promise.race([work, promise]);
    } finally {
      stop();
      this.#leftMilliseconds -= performance.now() - startedAt;
    }
  }

  #refusal(): { readonly promise: Promise<never>; readonly stop: () => void } {
    const signal = this.#signal;
    let timer: NodeJS.Timeout | undefined;
    let leave: (() => void) | undefined;
    const promise = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(tookTooLong(this.#seconds)), Math.max(0, this.#leftMilliseconds));
      leave = () => reject(callerLeft());
      signal?.addEventListener('abort', leave, { once: true });
      if (signal?.aborted === true) leave();
    });
    const stop = (): void => {
      clearTimeout(timer);
      if (leave !== undefined) signal?.removeEventListener('abort', leave);
    };
    return { promise, stop };
  }
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
