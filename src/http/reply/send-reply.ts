import type { ServerResponse } from 'node:http';
import { ServiceError } from '../../errors/service-error.ts';
import type { Limits } from '../../model/limits.ts';
import type { Services } from '../../operations/services.ts';
import type { Load } from '../admission/load.ts';
import { discardRest } from '../request/body.ts';
import type { RequestContext } from '../request-context.ts';
import { NOT_MODIFIED } from './reply.ts';
import type { HttpReply } from './reply.ts';

export interface SendDependencies {
  readonly services: Pick<Services, 'writes'>;
  readonly load: Load;
  readonly limits: Limits;
  /** During shutdown, replies close their connections. */
  readonly isDraining: () => boolean;
}

/** The beginning of a large reply, and the rest. */
interface StreamBody {
  readonly first: readonly Uint8Array[];
  readonly rest: AsyncIterator<Uint8Array>;
  /** The total length, if known. */
  readonly length?: number;
}

export type WholeReply = Omit<HttpReply, 'body'> & { readonly body: string | Uint8Array };
export type StreamedReply = Omit<HttpReply, 'body'> & { readonly body: StreamBody };

/** Replies up to this size are sent whole, with their length, in one write. */
const WHOLE_BYTES_MAX = 64 * 1024;

/** A client that takes longer than the idle timeout for each piece reads too slowly. */
const PIECE_BYTES = 1024 * 1024;

/**
 * Until this resolves, a failure can still become an error reply. The text of a write is always buffered whole, because
 * the write can no longer be refused.
 */
export async function bufferReply(
  reply: HttpReply,
  { isRead }: { readonly isRead: boolean },
  http: SendDependencies,
): Promise<WholeReply | StreamedReply> {
  const isLargeText = isRead && typeof reply.body === 'string' && reply.body.length > WHOLE_BYTES_MAX;
  const given = isLargeText ? Buffer.from(reply.body) : reply.body;
  if (typeof given === 'string') return { ...reply, body: given };
  if (reply.isLive === true && !(given instanceof Uint8Array)) {
    return { ...reply, body: { first: [], rest: given[Symbol.asyncIterator]() } };
  }
  const body = given instanceof Uint8Array ? asStream(given) : await buffer(given);
  if (body instanceof Uint8Array) return { ...reply, body };
  await requireStreamSlot(body, http);
  return { ...reply, body };
}

export function isStreamed(reply: WholeReply | StreamedReply): reply is StreamedReply {
  return typeof reply.body !== 'string' && !(reply.body instanceof Uint8Array);
}

/** The whole of a small reply, or the beginning of a large one. */
export async function buffer(pieces: AsyncIterable<Uint8Array>): Promise<Buffer | StreamBody> {
  const rest = pieces[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let length = 0;
  while (length <= WHOLE_BYTES_MAX) {
    const { done, value } = await rest.next();
    if (done === true) return Buffer.concat(first, length);
    first.push(value);
    length += value.length;
  }
  return { first, rest };
}

/** A slow client must not keep a large reply in memory forever. */
function asStream(bytes: Uint8Array): Uint8Array | StreamBody {
  if (bytes.length <= WHOLE_BYTES_MAX) return bytes;
  const { length } = bytes;
  const first: Uint8Array[] = [];
  for (let at = 0; at < length; at += PIECE_BYTES) first.push(bytes.subarray(at, at + PIECE_BYTES));
  return { first, rest: { next: async () => ({ done: true, value: undefined }) }, length };
}

/** Evicts a slow reader if there would be too many streams. */
async function requireStreamSlot(body: StreamBody, { load, limits }: SendDependencies): Promise<void> {
  const { streamsMax } = limits.http;
  if (load.slowReaders.size < streamsMax || load.slowReaders.evictSlowest()) return;
  await body.rest.return?.();
  throw new ServiceError('ServiceUnavailable', `The server is already sending ${streamsMax} large replies.`, {
    hint: 'Try again after the time in Retry-After, or request fewer rows or columns.',
    retryAfterSeconds: 1,
  });
}

export function sendWhole(context: RequestContext, reply: WholeReply, http: SendDependencies): void {
  writeHead(context, reply, http, reply.status === NOT_MODIFIED ? undefined : Buffer.byteLength(reply.body));
  context.response.end(reply.body);
}

/**
 * The last steps of a write (invariant 12): the response is marked before its first byte is sent; from then on, an
 * identical request is a new one. A crash between the two steps loses the response, so they are adjacent. If the client
 * has disconnected, sends nothing: its next request gets the result.
 */
export async function sendWrite(
  context: RequestContext,
  reply: WholeReply,
  mark: NonNullable<HttpReply['response']>,
  http: SendDependencies,
): Promise<void> {
  const { writes } = http.services;
  await writes.onStep('mark');
  if (context.response.destroyed) {
    writes.responses.release(mark);
    return;
  }
  writeHead(context, reply, http, Buffer.byteLength(reply.body));
  try {
    const marking = writes.responses.mark(mark);
    if (marking !== undefined) await marking;
    const sending = writes.onStep('send');
    if (sending !== undefined) await sending;
    context.response.end(reply.body);
  } catch (error) {
    // Without a mark the response must not be sent: the client repeats its request and gets the result.
    context.response.destroy();
    throw error;
  }
  await writes.onStep('sent');
}

function writeHead(
  { message, response }: Pick<RequestContext, 'message' | 'response'>,
  { status, headers }: Pick<HttpReply, 'status' | 'headers'>,
  { isDraining }: Pick<SendDependencies, 'isDraining'>,
  length?: number,
): void {
  discardRest(message);
  response.writeHead(status, {
    ...headers,
    ...(length === undefined ? {} : { 'content-length': length }),
    ...(isDraining() ? { connection: 'close' } : {}),
  });
}

export interface StreamOutcome {
  readonly bytes: number;
  /** Also `undefined` if the client disconnected. */
  readonly failure: unknown;
}

/**
 * Invariant 6: the status has been sent, so a failure breaks the connection, and no client mistakes a partial reply for
 * a complete one.
 */
export async function sendStream(
  context: Pick<RequestContext, 'message' | 'response'>,
  reply: StreamedReply,
  http: Omit<SendDependencies, 'services'>,
): Promise<StreamOutcome> {
  const { response } = context;
  const { first, rest, length } = reply.body;
  writeHead(context, reply, http, length);
  // The pieces of a live reply are small, and it holds no memory that others wait for.
  const client = reply.isLive === true ? undefined : http.load.slowReaders.track(() => void response.destroy());
  if (reply.isLive === true && context.message.method === 'HEAD') {
    // A generator that was never started would not clean up.
    await rest.next();
    await rest.return?.();
    response.end();
    return { bytes: 0, failure: undefined };
  }
  let bytes = 0;
  const send = async (piece: Uint8Array): Promise<void> => {
    bytes += piece.length;
    if (response.write(piece)) return;
    client?.waiting();
    await drain(response, http.limits.http.bodyIdleSeconds);
    client?.progressed();
  };
  try {
    for (const piece of first) await send(piece);
    for (let next = await rest.next(); next.done !== true && !response.destroyed; next = await rest.next()) {
      await send(next.value);
    }
    if (response.destroyed) await rest.return?.();
    else response.end();
    return { bytes, failure: undefined };
  } catch (failure) {
    response.destroy();
    return { bytes, failure };
  } finally {
    client?.leave();
  }
}

/** Waits until the client has received what was written; disconnects it if it receives nothing for too long. */
async function drain(response: ServerResponse, idleSeconds: number): Promise<void> {
  if (response.destroyed) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => response.destroy(), idleSeconds * 1000).unref();
    const settle = (): void => {
      clearTimeout(timer);
      response.off('drain', settle).off('close', settle);
      resolve();
    };
    response.once('drain', settle).once('close', settle);
  });
}
