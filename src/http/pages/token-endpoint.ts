import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { performance } from 'node:perf_hooks';
import type { TokenEndpoint, TokenRoute } from '../../auth/issuer/token-endpoint.ts';
import { DISCARD_BOUNDS, discardRest } from '../request/body.ts';
import type { MountParts } from '../mount.ts';
import { commonHeaders } from '../reply/reply.ts';

export interface TokenEndpointParts extends MountParts {
  readonly tokenEndpoint: TokenEndpoint | undefined;
  /** Below the base path. */
  readonly tokenEndpointPath: string;
}

/** Only these: whatever else the library could answer has no route that leads to it. */
const ROUTES = [
  { route: 'discovery', method: 'GET', path: '/.well-known/openid-configuration' },
  { route: 'keys', method: 'GET', path: '/jwks' },
  { route: 'token', method: 'POST', path: '/token' },
] as const;

/** The token endpoint writes its own replies, in the form of OAuth: its clients know no other. */
export function mountTokenEndpoint(server: FastifyInstance, parts: TokenEndpointParts): void {
  const { tokenEndpoint, tokenEndpointPath, basePath } = parts;
  if (tokenEndpoint === undefined) return;
  for (const { route, method, path } of ROUTES) {
    server.route({
      method,
      url: `${basePath}${tokenEndpointPath}${path}`,
      handler: (request, reply) => serve({ route, request, reply, path: `${tokenEndpointPath}${path}` }, parts),
    });
  }
}

interface Exchange {
  readonly route: TokenRoute;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly path: string;
}

async function serve(exchange: Exchange, parts: TokenEndpointParts): Promise<void> {
  const { route, request, reply } = exchange;
  const startedAt = performance.now();
  reply.hijack();
  prepare(exchange, parts);
  // The library waits for a body without end.
  const timer = setTimeout(() => request.raw.destroy(), parts.limits.http.bodyIdleSeconds * 1000);
  parts.load.inFlight.begin();
  try {
    const outcome = await parts.tokenEndpoint?.answer(route, request.raw, reply.raw);
    report(exchange, parts, { startedAt, client: outcome?.client, cause: outcome?.failure });
  } catch (error) {
    fail(reply);
    report(exchange, parts, { startedAt, client: undefined, cause: error });
  } finally {
    clearTimeout(timer);
    parts.load.inFlight.end();
  }
}

function prepare({ request, reply }: Exchange, parts: TokenEndpointParts): void {
  for (const [name, value] of Object.entries(commonHeaders(request.id))) reply.raw.setHeader(name, value);
  if (parts.isDraining()) reply.raw.setHeader('connection', 'close');
  reply.raw.once('prefinish', () => discardRest(request.raw, DISCARD_BOUNDS));
}

/** In the form of RFC 6749, section 5.2: too busy, or the catalog is away. */
function fail(reply: FastifyReply): void {
  if (reply.raw.headersSent) return;
  reply.raw.writeHead(503, { 'content-type': 'application/json; charset=utf-8', 'retry-after': '1' });
  reply.raw.end(JSON.stringify({ error: 'temporarily_unavailable' }));
}

interface Report {
  readonly startedAt: number;
  readonly client: string | undefined;
  readonly cause: unknown;
}

function report({ route, request, reply, path }: Exchange, parts: TokenEndpointParts, found: Report): void {
  const { statusCode } = reply.raw;
  parts.services.telemetry.emit({
    kind: 'request-finished',
    requestId: request.id,
    operation: `oauth_${route}`,
    method: request.method,
    dialect: 'lance',
    route: path,
    status: statusCode,
    milliseconds: performance.now() - found.startedAt,
    caller: found.client === undefined ? undefined : `client:${found.client}`,
    database: undefined,
    bytesIn: Number(request.headers['content-length'] ?? 0),
    bytesOut: Number(reply.raw.getHeader('content-length') ?? 0),
    errorKind: undefined,
    cause: found.cause,
  });
}
