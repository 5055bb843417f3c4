import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { performance } from 'node:perf_hooks';
import { ServiceError } from '../errors/service-error.ts';
import type { RequestTracer } from '../telemetry/traces/open-telemetry.ts';
import type { Operation } from '../operations/operation.ts';
import { DISCARD_BOUNDS, discardRest } from './request/body.ts';
import { whenClientGone } from './client-gone.ts';
import { chooseDialect } from './dialects.ts';
import { toErrorReply, toServiceError } from './reply/error-reply.ts';
import type { RefusalCache } from './admission/refusal-cache.ts';
import { commonHeaders, toJsonOutgoing, toOutgoing } from './reply/reply.ts';
import type { Outgoing } from './reply/reply.ts';
import { answer } from './handle-request.ts';
import { gather, sendPieces } from './reply/stream-reply.ts';
import type { Begun } from './reply/stream-reply.ts';
import type { Findings, LifeParts } from './handle-request.ts';
import { createShapeCheck } from '../invoke/shape-check.ts';
import type { ShapeCheck } from '../invoke/shape-check.ts';

export interface MountParts extends LifeParts {
  readonly basePath: string;
  /** Set when the server is shutting down: replies then close their connections. */
  readonly isDraining: () => boolean;
  /** Told of requests that there was no place for. */
  readonly flood: RefusalCache;
  /** Where requests are traced. */
  readonly tracer: RequestTracer | undefined;
}

/** One operation becomes one route; the router takes it with and without a slash at the end. */
export function mount(server: FastifyInstance, operation: Operation, parts: MountParts): void {
  if (operation.permission === undefined) throw new Error(`The operation ${operation.id} declares no permission.`);
  const bodyCheck = operation.body.kind === 'json' ? createShapeCheck(operation.body.shape) : undefined;
  for (const path of [operation.path, operation.pathOfRoot]) {
    if (path === undefined) continue;
    server.route({
      method: [...operation.methods],
      url: `${parts.basePath}${path}`,
      handler: (request, reply) => serveTraced({ request, reply, operation, bodyCheck }, parts),
    });
  }
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly operation: Operation;
  readonly bodyCheck: ShapeCheck | undefined;
}

async function serveTraced(exchange: Exchange, parts: MountParts): Promise<FastifyReply> {
  if (parts.tracer === undefined) return serve(exchange, parts);
  const { request, reply } = exchange;
  const onSpan = (traceresponse: string): void => void reply.raw.setHeader('traceresponse', traceresponse);
  return parts.tracer.run(request.raw.headers, onSpan, async () => serve(exchange, parts));
}

async function serve(exchange: Exchange, parts: MountParts): Promise<FastifyReply> {
  const { request, operation } = exchange;
  const startedAt = performance.now();
  const findings: Findings = {};
  const path = request.raw.url?.split('?', 1)[0] ?? '';
  const place = { instance: path, dialect: chooseDialect(path, request.headers['user-agent']) };
  let refusal: ReturnType<typeof toServiceError> | undefined;
  let outgoing: Gathered;
  let isSent = false;
  parts.load.inFlight.begin();
  try {
    outgoing = await answerOnce(exchange, place.dialect, parts, findings);
    isSent = await sendWritten(outgoing, exchange, parts);
  } catch (error) {
    refusal = toServiceError(error);
    const { status, headers, body } = toErrorReply(refusal, place);
    const requestId = findings.requestId ?? request.id;
    const refused = toJsonOutgoing(status, { ...commonHeaders(requestId), ...headers }, body);
    const { refusedFor: admissionRequest } = findings;
    if (admissionRequest !== undefined) {
      parts.flood.note({
        message: request.raw,
        admissionRequest,
        operation,
        dialect: place.dialect,
        outgoing: refused,
      });
    }
    outgoing = refused;
  }
  const finish = (bytesOut: number, failure: ServiceError | undefined): void => {
    findings.leave?.();
    findings.account?.close();
    parts.load.inFlight.end();
    parts.services.telemetry.emit({
      kind: 'request-finished',
      requestId: findings.requestId ?? request.id,
      operation: operation.id,
      method: request.method,
      dialect: place.dialect,
      route: operation.path,
      status: outgoing.status,
      milliseconds: performance.now() - startedAt,
      caller: findings.caller,
      database: findings.database,
      bytesIn: findings.bytesIn ?? Number(request.headers['content-length'] ?? 0),
      bytesOut,
      errorKind: failure?.kind,
      cause: failure?.cause,
    });
  };
  const { body } = outgoing;
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    // From here on it goes at the client's pace, and reads that are quicker need not wait for it.
    findings.leave?.();
    return sendOn(exchange, { ...outgoing, body }, parts, finish);
  }
  finish(Buffer.byteLength(body), refusal);
  return isSent || exchange.reply.sent ? exchange.reply : send(exchange, { ...outgoing, body }, parts);
}

/** A reply of which either all is there, or so much that the rest is sent as it comes. */
type Gathered = Omit<Outgoing, 'body'> & { readonly body: string | Buffer | Begun };

async function answerOnce(
  exchange: Exchange,
  dialect: ReturnType<typeof chooseDialect>,
  parts: MountParts,
  findings: Findings,
): Promise<Gathered> {
  const { request, operation, bodyCheck } = exchange;
  const incoming = {
    message: request.raw,
    requestId: request.id,
    dialect,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The router fills it from the operation's path.
    params: request.params as Readonly<Record<string, string>>,
    signal: whenClientGone(exchange.reply.raw),
  };
  const reply = await answer(incoming, { operation, bodyCheck }, parts, findings);
  const outgoing = toOutgoing(reply, findings.requestId ?? request.id);
  if (typeof outgoing.body === 'string') return { ...outgoing, body: outgoing.body };
  const body = await gather(outgoing.body);
  if (!(body instanceof Uint8Array)) await requireStreamPlace(body, parts);
  return { ...outgoing, body };
}

/** A client that is slow to take its reply makes way. */
async function requireStreamPlace(body: Begun, { load, limits }: MountParts): Promise<void> {
  const { streamsMax } = limits.http;
  if (load.slowReaders.size < streamsMax || load.slowReaders.cutSlowest()) return;
  await body.rest.return?.();
  throw new ServiceError('ServiceUnavailable', `The service is already sending ${streamsMax} large replies.`, {
    hint: 'Try again after the time in Retry-After, or ask for less.',
    retryAfterSeconds: 1,
  });
}

function send(
  exchange: Exchange,
  outgoing: Gathered & { readonly body: string | Buffer },
  parts: MountParts,
): FastifyReply {
  const { request, reply } = exchange;
  if (parts.isDraining()) void reply.header('connection', 'close');
  discardRest(request.raw, DISCARD_BOUNDS);
  void reply.code(outgoing.status).headers(outgoing.headers);
  void reply.send(outgoing.body);
  return reply;
}

/**
 * The last step of a write: the response is marked before its first byte leaves, so that a request of the same words is a
 * new one from then on. A kill between the two loses the response, so nothing stands between them, not even the
 * framework. When the client has gone, its next request gets the result. False for what is no write.
 */
async function sendWritten(outgoing: Gathered, { request, reply }: Exchange, parts: MountParts): Promise<boolean> {
  const { response, status, body } = outgoing;
  if (response === undefined || typeof body !== 'string') return false;
  const { writes } = parts.services;
  await writes.step('mark');
  if (reply.raw.destroyed) {
    writes.release(response);
    return false;
  }
  discardRest(request.raw, DISCARD_BOUNDS);
  const bytes = Buffer.from(body);
  const closing = parts.isDraining() ? { connection: 'close' } : {};
  const headers = { ...outgoing.headers, 'content-length': bytes.length, ...closing };
  reply.hijack();
  reply.raw.writeHead(status, headers);
  try {
    const marking = writes.mark(response);
    if (marking !== undefined) await marking;
    const sending = writes.step('send');
    if (sending !== undefined) await sending;
    reply.raw.end(bytes);
  } catch (error) {
    // It can be neither marked nor done without a mark: the client asks again, and gets the result.
    reply.raw.destroy();
    throw error;
  }
  await writes.step('sent');
  return true;
}

/** It counts as under way until the last byte is out. */
async function sendOn(
  exchange: Exchange,
  { status, headers, body }: Gathered & { readonly body: Begun },
  parts: MountParts,
  finish: (bytesOut: number, failure: ServiceError | undefined) => void,
): Promise<FastifyReply> {
  const { request, reply } = exchange;
  discardRest(request.raw, DISCARD_BOUNDS);
  reply.hijack();
  const closing = parts.isDraining() ? { connection: 'close' } : {};
  reply.raw.writeHead(status, { ...headers, ...closing });
  const pace = parts.load.slowReaders.join(() => void reply.raw.destroy());
  const { bytes, failure } = await sendPieces(reply.raw, body, parts.limits.http.bodyIdleSeconds, pace);
  pace.leave();
  finish(bytes, failure === undefined ? undefined : toServiceError(failure));
  return reply;
}
