import type { IncomingMessage } from 'node:http';
import { freeMemory } from '../../arrow/stream/buffer-pool.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import type { HttpLimits } from '../../model/limits.ts';
import { isObject, parseStrictJson } from '../../model/strict-json.ts';
import { formatByteLimit } from '../../model/value-text.ts';
import { UNCOUNTED_BYTES } from '../admission/memory-budget.ts';
import type { Load } from '../admission/load.ts';
import type { MemoryLease } from '../admission/memory-budget.ts';
import type { TrackedClient } from '../admission/slow-clients.ts';
import { parseLargeJson } from './large-json.ts';

interface BodyOptions {
  readonly limits: Pick<HttpLimits, 'bodyIdleSeconds' | 'bodyBytesPerSecondMin'>;
  /** For pieces that are kept. */
  readonly lease?: MemoryLease;
  /** Makes the sender subject to slow-client eviction. */
  readonly track?: (evict: () => void) => TrackedClient;
  readonly onReceived?: (piece: Uint8Array) => void;
}

interface JsonBodyOptions {
  readonly bytesMax: number;
  readonly limits: HttpLimits;
  readonly load: Pick<Load, 'slowJsonSenders'>;
  readonly lease: MemoryLease;
  readonly onReceived: (piece: Uint8Array) => void;
  /** Called with the bytes of the body. */
  readonly keep: (bytes: Uint8Array) => void;
  /** Reads a body that is an Arrow stream; if absent, such a body is refused. */
  readonly readArrow: ((bytes: Uint8Array) => Promise<Record<string, unknown>>) | undefined;
}

/** Up to this size `JSON.parse` is faster, and takes only a few milliseconds. */
const LARGE_BYTES_MIN = 64 * 1024;

export const ARROW_STREAM = 'application/vnd.apache.arrow.stream';

/** The parsed JSON body. An absent body and the literal `null`, which some clients send, become an empty object. */
export async function readJsonBody(
  message: IncomingMessage,
  options: JsonBodyOptions,
): Promise<Record<string, unknown>> {
  const readArrow = mediaTypeOf(message) === ARROW_STREAM ? options.readArrow : undefined;
  requireMediaType(message, readArrow === undefined ? 'application/json' : ARROW_STREAM);
  const bytes = await readWhole(message, options);
  options.keep(bytes);
  if (readArrow !== undefined) return readArrow(bytes);
  if (bytes.length === 0) return {};
  const { jsonDepthMax: depthMax, jsonValuesMax: valuesMax, jsonKeysMax: keysMax } = options.limits;
  const isLarge = bytes.length > LARGE_BYTES_MIN;
  const value = isLarge
    ? await parseLargeJson(bytes, { depthMax, valuesMax, keysMax })
    : parseStrictJson(bytes, { depthMax });
  if (value === null) return {};
  if (!isObject(value)) throw invalidInput('The body is not a JSON object.');
  return value;
}

export function refuseDeclaredLength(message: IncomingMessage, bytesMax: number): void {
  if (Number(message.headers['content-length'] ?? 0) > bytesMax) throw tooLarge(bytesMax);
}

/** For a body that a library may have read. The declared length counts only once the whole body has arrived. */
export function arrivedLength({ complete, headers }: IncomingMessage): number {
  return complete ? Number(headers['content-length'] ?? 0) : 0;
}

/** The memory of a piece is freed when the next one is read. */
export async function* readPieces(message: IncomingMessage, options: BodyOptions): AsyncGenerator<Uint8Array> {
  const reader = new BodyReader(message, options);
  try {
    for (let piece = await reader.next(); piece !== undefined; piece = await reader.next()) {
      options.onReceived?.(piece);
      yield piece;
      freeMemory(piece);
    }
  } finally {
    reader.stop();
  }
}

/** How much of a body is discarded after an early reply before the connection is closed. */
const DISCARDED_BYTES_MAX = 64 * 1024 * 1024;
const DISCARD_MILLISECONDS = 5000;

/**
 * Discards the rest of a body after an early reply, so that the client can read the reply and reuse the connection.
 * Must be called before the reply is sent: afterwards Node discards an unread body without a limit.
 */
export function discardRest(message: IncomingMessage): void {
  // An internal request (`local-fetch.ts`) does not set `complete`.
  if (message.complete || message.readableEnded || message.destroyed) return;
  let bytes = 0;
  const disconnect = (): void => void message.socket.destroy();
  const timer = setTimeout(disconnect, DISCARD_MILLISECONDS).unref();
  message.on('data', (piece: Uint8Array) => {
    bytes += piece.length;
    if (bytes > DISCARDED_BYTES_MAX) disconnect();
  });
  for (const event of ['close', 'end', 'error']) message.once(event, () => clearTimeout(timer));
  // A stream with a 'readable' listener, left by a reader that gave up, does not flow.
  message.removeAllListeners('readable');
  message.resume();
}

async function readWhole(message: IncomingMessage, options: JsonBodyOptions): Promise<Uint8Array> {
  const { bytesMax, limits, lease, load, onReceived } = options;
  refuseDeclaredLength(message, bytesMax);
  const track = (evict: () => void) => load.slowJsonSenders.track(evict, () => lease.heldBytes > 0);
  const reader = new BodyReader(message, { limits, lease, track });
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    for (let piece = await reader.next(); piece !== undefined; piece = await reader.next()) {
      onReceived(piece);
      length += piece.length;
      if (length > bytesMax) throw tooLarge(bytesMax);
      pieces.push(piece);
    }
  } finally {
    reader.stop();
  }
  const [first] = pieces;
  return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces, length);
}

/** Some clients send no Content-Type. */
export function requireMediaType(message: IncomingMessage, accepted: string): void {
  const encoding = message.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new ServiceError('UnsupportedMediaType', 'A compressed body (Content-Encoding) is not accepted.', {
      hint: 'Send it uncompressed; Arrow streams may compress their buffers with LZ4 or ZSTD.',
    });
  }
  if ([undefined, accepted].includes(mediaTypeOf(message))) return;
  throw new ServiceError('UnsupportedMediaType', 'The Content-Type of the body is not accepted.', {
    hint: `Send ${accepted}.`,
  });
}

function mediaTypeOf(message: IncomingMessage): string | undefined {
  return message.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
}

function tooLarge(bytesMax: number): ServiceError {
  return new ServiceError('PayloadTooLarge', `The body is larger than ${formatByteLimit(bytesMax)}.`);
}

/**
 * Whether the whole body was read, before the stream emits its end: most bodies arrive together with their headers, and
 * need not wait.
 */
function isReceived(message: IncomingMessage): boolean {
  return message.complete && message.readableLength === 0 && !message.destroyed;
}

/**
 * Reads a body piece by piece, with back-pressure from its lease and timeouts for its sender. The stream's own iterator
 * creates several promises and timers per piece, which costs more than the copying.
 */
class BodyReader {
  readonly #message: IncomingMessage;
  readonly #options: BodyOptions;
  readonly #client: TrackedClient | undefined;
  #uncountedBytes = UNCOUNTED_BYTES;
  #timer: NodeJS.Timeout | undefined;
  #hasNews = false;
  #failure: ServiceError | undefined;
  #wake: (() => void) | undefined;
  /** Since the last check of the rate. */
  #bytes = 0;
  #waitedMilliseconds = 0;

  constructor(message: IncomingMessage, options: BodyOptions) {
    this.#message = message;
    this.#options = options;
    this.#client = options.track?.(() =>
      this.#fail(new ServiceError('RequestTimeout', 'The body arrives too slowly while other requests wait.')),
    );
  }

  /** `undefined` at the end of the body. */
  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const piece: unknown = this.#message.read();
      if (piece instanceof Uint8Array) {
        this.#bytes += piece.length;
        this.#client?.progressed(piece.length);
        const { lease } = this.#options;
        if (lease !== undefined && piece.length > this.#uncountedBytes) await lease.take(piece.length);
        this.#uncountedBytes -= piece.length;
        return piece;
      }
      if (this.#message.readableEnded || isReceived(this.#message)) return undefined;
      this.#client?.waiting();
      await this.#waitForMore();
    }
  }

  stop(): void {
    this.#client?.leave();
    clearTimeout(this.#timer);
    this.#message
      .off('readable', this.#onNews)
      .off('end', this.#onNews)
      .off('error', this.#onError)
      .off('close', this.#onClose);
  }

  async #waitForMore(): Promise<void> {
    this.#watch();
    const startedAt = performance.now();
    while (!this.#hasNews && this.#failure === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#hasNews = false;
    this.#checkRate(performance.now() - startedAt);
    if (this.#failure !== undefined) throw this.#failure;
  }

  #watch(): void {
    if (this.#timer !== undefined) {
      this.#timer.refresh();
      return;
    }
    this.#timer = setTimeout(this.#onIdle, this.#options.limits.bodyIdleSeconds * 1000).unref();
    this.#message
      .on('readable', this.#onNews)
      .on('end', this.#onNews)
      .on('error', this.#onError)
      .on('close', this.#onClose);
    if (this.#message.destroyed) this.#onClose();
  }

  /** Counts only the time during which the service waited for the sender. */
  #checkRate(milliseconds: number): void {
    const { bodyIdleSeconds, bodyBytesPerSecondMin } = this.#options.limits;
    this.#waitedMilliseconds += milliseconds;
    if (this.#waitedMilliseconds < bodyIdleSeconds * 1000) return;
    const bytesPerSecond = (this.#bytes / this.#waitedMilliseconds) * 1000;
    this.#bytes = 0;
    this.#waitedMilliseconds = 0;
    if (bytesPerSecond >= bodyBytesPerSecondMin || this.#message.readableEnded) return;
    const rate = `${formatByteLimit(bodyBytesPerSecondMin)} per second`;
    this.#fail(new ServiceError('RequestTimeout', `The body arrives more slowly than ${rate}.`));
  }

  readonly #onNews = (): void => {
    this.#hasNews = true;
    this.#wakeUp();
  };

  readonly #onError = (cause: unknown): void => {
    this.#fail(new ServiceError('InvalidInput', 'The connection was closed before the body was complete.', { cause }));
  };

  readonly #onClose = (): void => {
    if (!this.#message.readableEnded) this.#onError(undefined);
  };

  /** While the reader is busy with a piece, the sender is not slow. */
  readonly #onIdle = (): void => {
    if (this.#wake === undefined) return;
    const { bodyIdleSeconds } = this.#options.limits;
    this.#fail(new ServiceError('RequestTimeout', `No data of the body arrived for ${bodyIdleSeconds} s.`));
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
