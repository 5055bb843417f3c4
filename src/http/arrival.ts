import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../errors/service-error.ts';

/**
 * Waits for more of a body. The stream's own iterator makes several promises and timers for each piece, which for large
 * uploads costs more than the copying.
 */
export class Arrival {
  readonly #message: IncomingMessage;
  readonly #idleSeconds: number;
  readonly #timer: NodeJS.Timeout;
  #hasNews = false;
  #failure: ServiceError | undefined;
  #wake: (() => void) | undefined;

  constructor(message: IncomingMessage, idleSeconds: number) {
    this.#message = message;
    this.#idleSeconds = idleSeconds;
    this.#timer = setTimeout(this.#onIdle, idleSeconds * 1000).unref();
    message.on('readable', this.#onNews).on('end', this.#onNews).on('error', this.#onError).on('close', this.#onClose);
  }

  /** Resolves when there is something to read, or the end; refuses when the connection broke or stays silent. */
  async next(): Promise<void> {
    this.#timer.refresh();
    while (!this.#hasNews && this.#failure === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#hasNews = false;
    if (this.#failure !== undefined) throw this.#failure;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#message
      .off('readable', this.#onNews)
      .off('end', this.#onNews)
      .off('error', this.#onError)
      .off('close', this.#onClose);
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
    this.#fail(new ServiceError('RequestTimeout', `No byte of the body arrived for ${this.#idleSeconds} seconds.`));
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
