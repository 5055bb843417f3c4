import { Agent as HttpAgent, request as requestHttp } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Catalog } from '../../catalog/catalog.ts';
import type { LocateOptions, Owner } from '../../coordination/coordination.ts';
import { NotOwner, ServiceError } from '../../errors/service-error.ts';
import type { TableRecord } from '../../model/table.ts';
import type { Reply } from '../../operations/operation.ts';
import type { ForwardFailure } from '../../telemetry/metrics/metric-rows.ts';
import { readPieces } from '../request/body.ts';
import type { RequestContext } from '../request-context.ts';
import type { Limits } from '../../model/limits.ts';
import { NOT_OWNER, hopHeader, isForwarded, passedHeaders } from './hop.ts';

export interface ForwarderSettings {
  readonly nodeId: string;
  readonly secret: string;
  readonly leaseSeconds: number;
  readonly forwardsMax: number;
  readonly limits: Limits;
  readonly catalog: Pick<Catalog, 'nodes'>;
  /** The node that may write to a table, if it is another one. */
  readonly locate: (table: TableRecord, options: LocateOptions) => Promise<Owner | undefined>;
  /** Call it when a request begins that may write to the table; the returned function ends the hold. */
  readonly hold: (table: TableRecord) => () => void;
  /** Called after every attempt. */
  readonly onAttempt: (outcome: 'done' | ForwardFailure, milliseconds: number) => void;
  /** The `traceparent` of the running request's span, if it is traced. */
  readonly traceparent: () => string | undefined;
}

/** The body of a request that may have to be forwarded: already read, or a stream. */
export type ForwardedBody = { readonly kind: 'whole'; readonly bytes: Uint8Array } | { readonly kind: 'stream' };

/** Added to the lease time: a takeover may first have to resolve pending writes. */
const TAKEOVER_SECONDS = 5;
const RETRY_MILLISECONDS = 100;
const ACCEPT_MILLISECONDS = 2000;
const ADDRESSES_MAX = 1000;

/** Nothing of the request was applied, so it may be sent again. */
export class NotSent extends Error {}

/** Forwards a write to the node that owns its table, once, and returns that node's reply. */
export class Forwarder {
  readonly #settings: ForwarderSettings;
  readonly #agents = {
    'http:': new HttpAgent({ keepAlive: true }),
    'https:': new HttpsAgent({ keepAlive: true }),
  };
  /** Addresses of forwarded requests: the next request to one of them is probably forwarded too. */
  readonly #addresses = new LRUCache<string, true>({ max: ADDRESSES_MAX });
  #running = 0;

  constructor(settings: ForwarderSettings) {
    this.#settings = settings;
  }

  get running(): number {
    return this.#running;
  }

  isForwarded(message: IncomingMessage): boolean {
    return isForwarded(message, this.#settings.secret);
  }

  /** Whether the last write to this address was forwarded. */
  remembers(message: IncomingMessage): boolean {
    return this.#addresses.has(addressOf(message));
  }

  forget(message: IncomingMessage): void {
    this.#addresses.delete(addressOf(message));
  }

  /**
   * Headers for the refusal of a forwarded write if this node has lost the table: the sender then looks up the owner
   * again.
   */
  headersFor(refusal: ServiceError, message: IncomingMessage): Readonly<Record<string, string>> {
    return refusal instanceof NotOwner && this.isForwarded(message) ? { [NOT_OWNER]: 'true' } : {};
  }

  /**
   * `undefined` if this node owns the table. If the owner is away, waits for its lease to end and for a takeover. A
   * write is never sent twice: if it may have reached its owner but no reply came back, the caller gets an in-doubt
   * error.
   */
  async forward(context: RequestContext, table: TableRecord, body: ForwardedBody): Promise<Reply | undefined> {
    const { locate, hold, leaseSeconds, onAttempt } = this.#settings;
    context.holdUntilEnd(hold(table));
    const startedAt = performance.now();
    const deadline = startedAt + (2 * leaseSeconds + TAKEOVER_SECONDS) * 1000;
    const hasHopped = this.isForwarded(context.message);
    // A former owner reports this, and a complete body can then be sent to another node.
    for (let mayBeOutdated = body.kind === 'whole' && !hasHopped; ; mayBeOutdated = false) {
      const owner = await locate(table, { mayBeOutdated });
      if (owner === undefined) {
        if (context.isFromMemory) throw new NotSent();
        return undefined;
      }
      if (hasHopped) return { kind: 'empty', status: 421, headers: { [NOT_OWNER]: 'true' } };
      try {
        const reply = await this.#send(context, owner, body);
        this.#addresses.set(addressOf(context.message), true);
        return reply;
      } catch (error) {
        if (!(error instanceof NotSent) || context.isFromMemory) throw error;
        if (performance.now() > deadline || context.response.destroyed) {
          onAttempt('owner_away', performance.now() - startedAt);
          throw ownerAway(error.cause);
        }
      }
      if (!mayBeOutdated) await sleep(RETRY_MILLISECONDS);
    }
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  async #send(context: RequestContext, owner: Owner, body: ForwardedBody): Promise<Reply> {
    const { forwardsMax, onAttempt } = this.#settings;
    if (this.#running >= forwardsMax) {
      onAttempt('too_many', 0);
      throw tooMany(forwardsMax);
    }
    this.#running += 1;
    // If all slots of two nodes waited for each other, they would wait forever.
    context.slot?.();
    const startedAt = performance.now();
    const ended = new AbortController();
    let outcome: 'done' | ForwardFailure = 'unreachable';
    try {
      const request = this.#open(context, owner.address, body);
      const replied = receive(request);
      await accepted(request, replied);
      outcome = 'reply_lost';
      context.isSent = true;
      this.#watch({ request, owner, context, signal: ended.signal });
      const sent = body.kind === 'whole' ? request.end(body.bytes) : this.#stream(context, request);
      const reply = await replied;
      if (body.kind === 'stream') void Promise.resolve(sent).catch(() => {});
      outcome = reply.headers[NOT_OWNER] === undefined ? 'done' : 'not_owner';
      if (outcome === 'done') return toReply(reply);
      reply.resume();
      // A part of the stream was already read.
      if (body.kind === 'stream') throw ownerAway(undefined);
      context.isSent = false;
      throw new NotSent();
    } finally {
      ended.abort();
      this.#running -= 1;
      const isGone = outcome === 'reply_lost' && context.signal().aborted;
      onAttempt(isGone ? 'client_gone' : outcome, performance.now() - startedAt);
    }
  }

  /**
   * Asks the owner whether it accepts the body (`Expect: 100-continue`). Before its answer, it cannot have applied
   * anything.
   */
  #open({ message, requestId }: RequestContext, address: string | undefined, body: ForwardedBody): ClientRequest {
    if (address === undefined) throw new NotSent('The owner has no address.');
    const { nodeId, secret } = this.#settings;
    const traceparent = this.#settings.traceparent();
    const length = body.kind === 'whole' ? body.bytes.length : message.headers['content-length'];
    const destination = toDestination(address);
    const isSecure = destination.protocol === 'https:';
    return (isSecure ? requestHttps : requestHttp)({
      ...destination,
      path: message.url,
      method: message.method,
      agent: isSecure ? this.#agents['https:'] : this.#agents['http:'],
      headers: {
        ...passedHeaders(message.headers),
        ...hopHeader(nodeId, secret, message),
        ...(length === undefined ? {} : { 'content-length': length }),
        ...(traceparent === undefined ? {} : { traceparent }),
        'x-request-id': requestId,
        ...(length === 0 ? {} : { expect: '100-continue' }),
      },
    });
  }

  async #stream(context: RequestContext, request: ClientRequest): Promise<void> {
    const { limits } = this.#settings;
    const pieces = readPieces(context.message, { limits: limits.http, onReceived: context.received });
    try {
      for await (const piece of pieces) {
        // Copied, because the memory of a piece is freed when the next one is read.
        if (!request.write(Buffer.from(piece))) await drained(request);
        if (request.destroyed) return;
      }
      request.end();
    } catch (error) {
      request.destroy(error instanceof Error ? error : undefined);
    }
  }

  /**
   * Gives up if the client disconnects, or if the owner has been silent for so long that another node may take over.
   */
  #watch({ request, owner, context, signal }: Watched): void {
    const { catalog, leaseSeconds } = this.#settings;
    const check = async (): Promise<void> => {
      // Does not check the lease: a dropped table has none.
      const isAlive = await catalog.nodes.isAlive(owner.nodeId);
      if (!isAlive && !signal.aborted) request.destroy(new Error('The owner sends no heartbeats.'));
    };
    // Without the catalog no takeover is possible either.
    const timer = setInterval(() => void check().catch(() => {}), leaseSeconds * 1000);
    const gone = context.signal();
    const onGone = (): void => void request.destroy();
    gone.addEventListener('abort', onGone);
    signal.addEventListener('abort', () => {
      clearInterval(timer);
      gone.removeEventListener('abort', onGone);
    });
  }
}

interface Watched {
  readonly request: ClientRequest;
  readonly owner: Owner;
  readonly context: RequestContext;
  readonly signal: AbortSignal;
}

/** Without a body there is no `100 Continue`: the request counts as sent once it is connected. */
async function accepted(request: ClientRequest, replied: Promise<IncomingMessage>): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const fail = (cause?: unknown): void => {
      clearTimeout(timer);
      request.destroy();
      reject(new NotSent('The owner does not respond.', { cause }));
    };
    const settle = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(fail, ACCEPT_MILLISECONDS);
    replied.then(settle, fail);
    if (request.hasHeader('expect')) request.once('continue', settle);
    else request.once('socket', (socket) => (socket.connecting ? socket.once('connect', settle) : settle()));
  });
}

/**
 * Resolves with the reply once its headers have arrived. A failure after the connection was made leaves the write in
 * doubt.
 */
async function receive(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    // A `ServiceError` means that the sender stalled or disconnected: the owner applies no write with an incomplete
    // body.
    request.once('error', (cause) => reject(cause instanceof ServiceError ? cause : replyLost(cause)));
    request.once('close', () => reject(replyLost(undefined)));
  });
}

function toReply(reply: IncomingMessage): Reply {
  const { 'content-type': mediaType = 'application/json', ...headers } = passedHeaders(reply.headers);
  const texts = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
  return {
    kind: 'stream',
    status: reply.statusCode ?? 500,
    mediaType: String(mediaType),
    headers: Object.fromEntries(texts),
    pieces: receivedPieces(reply),
  };
}

async function* receivedPieces(reply: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of reply) if (piece instanceof Uint8Array) yield piece;
  } catch (cause) {
    throw replyLost(cause);
  }
}

async function drained(request: ClientRequest): Promise<void> {
  await new Promise<void>((resolve) => {
    const settle = (): void => {
      request.off('drain', settle).off('close', settle);
      resolve();
    };
    request.once('drain', settle).once('close', settle);
  });
}

function replyLost(cause: unknown): ServiceError {
  const message = 'The node that owns the table sent no reply: it is not known whether the write was applied.';
  const hint = 'Check before you send it again; a request with an Idempotency-Key can be sent again unchanged.';
  return new ServiceError('ServiceUnavailable', message, { hint, cause, retryAfterSeconds: 1, outcome: 'unknown' });
}

function ownerAway(cause: unknown): ServiceError {
  const message = 'The node that owns the table is unavailable. Nothing was changed.';
  return new ServiceError('ServiceUnavailable', message, {
    hint: 'Send the request again.',
    cause,
    retryAfterSeconds: 1,
  });
}

function tooMany(forwardsMax: number): ServiceError {
  const message = `The node is already forwarding ${forwardsMax} writes.`;
  return new ServiceError('ServiceUnavailable', message, { hint: 'Send the request again.', retryAfterSeconds: 1 });
}

/** Databases that are named by the host share addresses: in the worst case, a request is executed again. */
function addressOf({ method, url, headers }: IncomingMessage): string {
  return JSON.stringify([method, headers['x-service-database'], headers['x-lancedb-database'], url]);
}

/** The certificate must name the node, not the client's Host header, which is passed on. */
export function toDestination(address: string) {
  const { protocol, hostname, port } = new URL(address);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return { protocol, host, port, servername: isIP(host) === 0 ? host : '' };
}
