import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../errors/service-error.ts';
import type { HttpLimits } from '../model/limits.ts';

export type BodyPace = Pick<HttpLimits, 'bodyIdleSeconds' | 'bodyBytesPerSecondMin'>;

/**
 * Waits for more of a body. The stream's own iterator makes several promises and timers for each piece, which for large
 * uploads costs more than the copying.
 */
export class Arrival {
  readonly #message: IncomingMessage;
  readonly #limits: BodyPace;
  readonly #timer: NodeJS.Timeout;
  #hasNews = false;
  #failure: ServiceError | undefined;
  #wake: (() => void) | undefined;
  /** Of late: bytes, and how long we waited for them. */
  #bytes = 0;
  #waitedMilliseconds = 0;

  constructor(message: IncomingMessage, limits: BodyPace) {
    this.#message = message;
    this.#limits = limits;
    this.#timer = setTimeout(this.#onIdle, limits.bodyIdleSeconds * 1000).unref();
    message.on('readable', this.#onNews).on('end', this.#onNews).on('error', this.#onError).on('close', this.#onClose);
  }

  /** Resolves when there is something to read, or the end; refuses when the connection broke or stays silent. */
  async next(): Promise<void> {
    this.#timer.refresh();
    const startedAt = performance.now();
    while (!this.#hasNews && this.#failure === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#hasNews = false;
    this.#requirePace(performance.now() - startedAt);
    if (this.#failure !== undefined) throw this.#failure;
  }

  received(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Somebody else needs the place of this one. */
  readonly giveUp = (): void => {
    this.#fail(new ServiceError('RequestTimeout', 'The body arrives too slowly while others are waiting.'));
  };

  stop(): void {
    clearTimeout(this.#timer);
    this.#message
      .off('readable', this.#onNews)
      .off('end', this.#onNews)
      .off('error', this.#onError)
      .off('close', this.#onClose);
  }

  /** Only the time counts in which it was for the sender to do something. */
  #requirePace(milliseconds: number): void {
    const { bodyIdleSeconds, bodyBytesPerSecondMin } = this.#limits;
    this.#waitedMilliseconds += milliseconds;
    if (this.#waitedMilliseconds < bodyIdleSeconds * 1000) return;
    const bytesPerSecond = (this.#bytes / this.#waitedMilliseconds) * 1000;
    this.#bytes = 0;
    this.#waitedMilliseconds = 0;
    if (bytesPerSecond >= bodyBytesPerSecondMin || this.#message.readableEnded) return;
    const pace = `${bodyBytesPerSecondMin} bytes a second`;
    this.#fail(new ServiceError('RequestTimeout', `The body arrives more slowly than ${pace}.`));
  }

  readonly #onNews = (): void => {
    this.#hasNews = true;
    this.#wakeUp();
  };

  readonly #onError = (cause: unknown): void => {
    this.#fail(new ServiceError('InvalidInput', 'The connection ended before the body did.', { cause }));
  };

  readonly #onClose = (): void => {
    if (!this.#message.readableEnded) this.#onError(undefined);
  };

  /** Only while somebody waits: when the reader is busy, it is not the sender who is slow. */
  readonly #onIdle = (): void => {
    if (this.#wake === undefined) return;
    this.#fail(
      new ServiceError('RequestTimeout', `No byte of the body arrived for ${this.#limits.bodyIdleSeconds} seconds.`),
    );
  };

  #fail(failure: ServiceError): void {
    this.#failure ??= failure;
    this.#wakeUp();
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
