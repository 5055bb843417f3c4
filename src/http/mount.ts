import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { performance } from 'node:perf_hooks';
import type { Operation } from '../operations/operation.ts';
import type { Admission } from './admission.ts';
import { DISCARD_BOUNDS, discardRest } from './body.ts';
import { chooseDialect } from './dialects.ts';
import { toErrorReply, toServiceError } from './error-reply.ts';
import { commonHeaders, toJsonOutgoing, toOutgoing } from './reply.ts';
import type { Outgoing } from './reply.ts';
import { answer } from './request-life.ts';
import type { Findings, LifeParts } from './request-life.ts';
import { createShapeCheck } from './shape-check.ts';
import type { ShapeCheck } from './shape-check.ts';

export interface MountParts extends LifeParts {
  readonly admission: Admission;
  readonly basePath: string;
  /** Set when the server is shutting down: replies then close their connections. */
  readonly isDraining: () => boolean;
}

/** One operation becomes one route; the router takes it with and without a slash at the end. */
export function mount(server: FastifyInstance, operation: Operation, parts: MountParts): void {
  if (operation.permission === undefined) throw new Error(`The operation ${operation.id} declares no permission.`);
  const bodyCheck = operation.body.kind === 'json' ? createShapeCheck(operation.body.shape) : undefined;
  server.route({
    method: operation.method,
    url: `${parts.basePath}${operation.path}`,
    handler: (request, reply) => serve({ request, reply, operation, bodyCheck }, parts),
  });
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly operation: Operation;
  readonly bodyCheck: ShapeCheck | undefined;
}

async function serve(exchange: Exchange, parts: MountParts): Promise<FastifyReply> {
  const { request, operation } = exchange;
  const startedAt = performance.now();
  const findings: Findings = {};
  const path = request.raw.url?.split('?', 1)[0] ?? '';
  const place = { instance: path, dialect: chooseDialect(path, request.headers['user-agent']) };
  let outgoing: Outgoing;
  let refusal: ReturnType<typeof toServiceError> | undefined;
  try {
    outgoing = await answerWithin(exchange, place.dialect, parts, findings);
  } catch (error) {
    refusal = toServiceError(error);
    const { status, headers, body } = toErrorReply(refusal, place);
    const requestId = findings.requestId ?? request.id;
    outgoing = toJsonOutgoing(status, { ...commonHeaders(requestId), ...headers }, body);
  }
  parts.services.telemetry.emit({
    kind: 'request-finished',
    requestId: findings.requestId ?? request.id,
    operation: operation.id,
    method: operation.method,
    route: operation.path,
    status: outgoing.status,
    milliseconds: performance.now() - startedAt,
    caller: findings.caller,
    database: findings.database,
    bytesIn: findings.bytesIn ?? Number(request.headers['content-length'] ?? 0),
    bytesOut: Buffer.byteLength(outgoing.body),
    errorKind: refusal?.kind,
    cause: refusal?.cause,
  });
  return send(exchange, outgoing, parts);
}

async function answerWithin(
  exchange: Exchange,
  dialect: ReturnType<typeof chooseDialect>,
  parts: MountParts,
  findings: Findings,
): Promise<Outgoing> {
  const { request, operation, bodyCheck } = exchange;
  const leave = parts.admission.enter(operation.body.kind === 'arrow');
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The router fills it from the operation's path.
    const params = request.params as { readonly id?: string };
    const incoming = { message: request.raw, requestId: request.id, dialect, identifier: params.id };
    const reply = await answer(incoming, { operation, bodyCheck }, parts, findings);
    return toOutgoing(reply, findings.requestId ?? request.id);
  } finally {
    leave();
  }
}

function send(exchange: Exchange, outgoing: Outgoing, parts: MountParts): FastifyReply {
  const { request, reply } = exchange;
  if (parts.isDraining()) void reply.header('connection', 'close');
  discardRest(request.raw, DISCARD_BOUNDS);
  return reply.code(outgoing.status).headers(outgoing.headers).send(outgoing.body);
}
