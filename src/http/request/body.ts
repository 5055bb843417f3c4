import type { IncomingMessage } from 'node:http';
import { freeMemory } from '../../arrow/stream/buffer-pool.ts';
import { ServiceError } from '../../errors/service-error.ts';
import type { HttpLimits } from '../../model/limits.ts';
import type { MemoryLease } from '../admission/memory-budget.ts';
import type { Pace } from '../admission/slow-clients.ts';
import { parseStrictJson } from '../../model/strict-json.ts';

export interface JsonReadOptions {
  readonly bytesMax: number;
  readonly limits: HttpLimits;
  readonly account: MemoryLease;
}

export interface ReadOptions {
  readonly limits: BodyPace;
  /**
   * Who pays for the pieces, where the reader keeps them; when there is no memory left, nothing more is read from the
   * socket. Without one, the memory of each piece is freed when the next is asked for.
   */
  readonly account?: MemoryLease;
  /** Joins those whose bodies are given up when they are slow and others need room. */
  readonly pace?: (giveUp: () => void) => Pace;
  readonly onReceived?: (piece: Uint8Array) => void;
}

/** How much of a body is thrown away after an early reply before the connection is cut. */
export const DISCARD_BOUNDS = { bytesMax: 64 * 1024 * 1024, seconds: 5 };

/** So much of each body is not counted: small requests do not wait for the memory that large ones hold. */
export const FREE_BYTES = 64 * 1024;

/** The parsed JSON body; no body at all and the literal `null` are both an empty object, as some clients send them. */
export async function readJsonBody(
  message: IncomingMessage,
  options: JsonReadOptions,
): Promise<Record<string, unknown>> {
  requireMediaType(message, ['application/json'], 'application/json');
  const bytes = await readWhole(message, options);
  if (bytes.length === 0) return {};
  const value = parseStrictJson(bytes, { depthMax: options.limits.jsonDepthMax });
  if (value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new ServiceError('InvalidInput', 'The body is not a JSON object.');
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- A parsed JSON value that is an object and no array has string keys.
  return value as Record<string, unknown>;
}

/** Checks, without reading, that the body says it is an Arrow stream; some clients say nothing. */
export function requireArrowStream(message: IncomingMessage): void {
  requireMediaType(message, ['application/vnd.apache.arrow.stream'], 'application/vnd.apache.arrow.stream');
}

/** A body that says itself that it is too large is refused before a byte of it is read. */
export function refuseDeclaredLength(message: IncomingMessage, bytesMax: number): void {
  if (Number(message.headers['content-length'] ?? 0) <= bytesMax) return;
  throw new ServiceError('PayloadTooLarge', `The body is larger than ${bytesMax} bytes.`);
}

/** The pieces of a body as they arrive; a body that pauses too long is a failed request. */
export async function* readPieces(message: IncomingMessage, options: ReadOptions): AsyncGenerator<Uint8Array> {
  const { limits, account, onReceived } = options;
  const arrival = new Arrival(message, limits);
  let freeBytes = FREE_BYTES;
  const pace = options.pace?.(arrival.giveUp);
  try {
    for (;;) {
      const piece: unknown = message.read();
      if (piece instanceof Uint8Array) {
        arrival.received(piece.length);
        if (account !== undefined && piece.length > freeBytes) await takeUnlessGone(message, account, piece.length);
        freeBytes -= piece.length;
        onReceived?.(piece);
        yield piece;
        if (account === undefined) freeMemory(piece);
      } else if (message.readableEnded) {
        return;
      } else {
        pace?.waits();
        await arrival.next();
        pace?.moves();
      }
    }
  } finally {
    pace?.leave();
    arrival.stop();
  }
}

/** A sender that leaves while it is made to wait gives its turn to the next. */
export async function takeUnlessGone(message: IncomingMessage, account: MemoryLease, bytes: number): Promise<void> {
  const wait = account.take(bytes);
  if (wait === undefined) return;
  const onClose = (): void => account.close();
  message.once('close', onClose);
  try {
    await wait;
  } finally {
    message.off('close', onClose);
  }
}

/**
 * With an early reply the rest of a body is thrown away, so that the client can read the reply and the connection stays
 * usable; one that goes on and on is cut. This must begin before the reply is out: from then on node throws an unread
 * body away by itself, without any bound.
 */
export function discardRest(
  message: IncomingMessage,
  bounds: { readonly bytesMax: number; readonly seconds: number },
): void {
  if (message.complete || message.destroyed) return;
  let bytes = 0;
  const cut = (): void => void message.socket.destroy();
  const timer = setTimeout(cut, bounds.seconds * 1000);
  timer.unref();
  message.on('data', (piece: Uint8Array) => {
    bytes += piece.length;
    if (bytes > bounds.bytesMax) cut();
  });
  message.once('close', () => clearTimeout(timer));
  message.once('end', () => clearTimeout(timer));
  message.once('error', () => clearTimeout(timer));
  // A reader that gave up in the middle still listens, and a stream that is listened to so does not flow by itself.
  message.removeAllListeners('readable');
  message.resume();
}

async function readWhole(message: IncomingMessage, options: JsonReadOptions): Promise<Buffer> {
  refuseDeclaredLength(message, options.bytesMax);
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of readPieces(message, options)) {
    length += piece.length;
    if (length > options.bytesMax) {
      throw new ServiceError('PayloadTooLarge', `The body is larger than ${options.bytesMax} bytes.`);
    }
    pieces.push(piece);
  }
  return pieces.length === 1 && pieces[0] !== undefined ? Buffer.from(pieces[0]) : Buffer.concat(pieces, length);
}

function requireMediaType(message: IncomingMessage, accepted: readonly string[], wanted: string): void {
  const encoding = message.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new ServiceError('UnsupportedMediaType', 'A compressed body (Content-Encoding) is not accepted.', {
      hint: 'Send it as it is; Arrow streams may compress their buffers with LZ4 or ZSTD.',
    });
  }
  const header = message.headers['content-type'];
  if (header === undefined) return;
  const mediaType = header.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (accepted.includes(mediaType)) return;
  throw new ServiceError('UnsupportedMediaType', 'The Content-Type of the body is not accepted here.', {
    hint: `Send ${wanted}.`,
  });
}

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
