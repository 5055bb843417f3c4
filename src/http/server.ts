import Fastify from 'fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Socket } from 'node:net';
import { ServiceError } from '../errors/service-error.ts';
import { OPERATIONS } from '../operations/registry.ts';
import { DISCARD_BOUNDS, discardRest } from './request/body.ts';
import { Connections } from './admission/connections.ts';
import { mountConsole } from './pages/console.ts';
import type { ConsoleSettings } from './pages/console.ts';
import { chooseDialect } from './dialects.ts';
import { mountDocs } from './pages/docs-page.ts';
import { toErrorReply, toServiceError, explainNoRoute, refuseTunnel, refuseUnreadable } from './reply/error-reply.ts';
import { decodePlusSigns } from './request/url.ts';
import { mountMetrics, mountProbes } from './pages/monitoring.ts';
import type { MetricsSettings, Health } from './pages/monitoring.ts';
import { RefusalCache } from './admission/refusal-cache.ts';
import { mount } from './mount.ts';
import type { MountParts } from './mount.ts';
import { OpenExchanges } from './admission/in-flight.ts';
import { commonHeaders, toJsonOutgoing } from './reply/reply.ts';
import { chooseRequestId } from './request/headers.ts';
import { mountTokenEndpoint } from './pages/token-endpoint.ts';
import type { TokenEndpointParts } from './pages/token-endpoint.ts';

export interface HttpSettings extends Omit<TokenEndpointParts, 'flood'>, ConsoleSettings {
  readonly release: string;
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  readonly health: Health;
  readonly metrics: MetricsSettings;
}

export interface HttpServer {
  /** Takes a connection that somebody else accepted. */
  accept(socket: Socket): void;
  /** How many are open. */
  connections(): number;
  closeIdleConnections(): void;
  close(): Promise<void>;
}

/** How long replies that are on their way have to get out when the server closes. */
const LAST_REPLIES_MILLISECONDS = 1000;

export async function createHttpServer(settings: HttpSettings): Promise<HttpServer> {
  const server = createFastify(settings);
  const flood = new RefusalCache({
    admission: settings.load.admission,
    telemetry: settings.services.telemetry,
    isAllowed: () => !settings.isDraining() && settings.tracer === undefined,
    now: () => performance.now(),
  });
  flood.guard(server.server);
  const exchanges = new OpenExchanges(server.server);
  const connections = new Connections({
    connectionsMax: settings.limits.http.connectionsMax,
    onRefused: (count) => settings.services.telemetry.emit({ kind: 'connections-refused', count }),
  });
  await prepareRoutes(server, { ...settings, flood });
  return {
    accept(socket) {
      if (connections.admit(socket)) server.server.emit('connection', socket);
    },
    connections: () => connections.open,
    closeIdleConnections() {
      // Node counts a connection as idle whose reply has been written but is not out yet.
      if (exchanges.count === 0) server.server.closeIdleConnections();
    },
    async close() {
      await exchanges.whenNone(LAST_REPLIES_MILLISECONDS);
      flood.tell();
      server.server.closeAllConnections();
      await server.close();
    },
  };
}

async function prepareRoutes(
  server: FastifyInstance,
  settings: HttpSettings & Pick<MountParts, 'flood'>,
): Promise<void> {
  const { basePath } = settings;
  server.removeAllContentTypeParsers();
  // Bodies stay unread until the caller is known; the life of the request reads them.
  server.addContentTypeParser('*', (_request, _payload, done) => done(null));
  server.addHook('onRequest', async (request, reply) => welcome(request, reply, settings));
  server.setNotFoundHandler((request, reply) => {
    const { refusal, headers } = explainNoRoute(request.method, pathOf(request), settings);
    return refuse(request, reply.headers(headers), refusal, settings);
  });
  server.setErrorHandler((error, request, reply) => refuse(request, reply, toServiceError(error), settings));
  for (const operation of OPERATIONS) mount(server, operation, settings);
  const prefixes = [...new Set(['', basePath])];
  mountProbes(server, prefixes, settings.health);
  mountMetrics(server, prefixes, settings);
  mountDocs(server, settings);
  mountConsole(server, settings);
  mountTokenEndpoint(server, settings);
  await server.ready();
  // An expectation that we do not know is nothing that RFC 9110 makes us refuse; node would, without a body.
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response));
  server.server.on('connect', refuseTunnel);
  // Node starts its watch over slow headers when a server listens; ours is handed its connections instead.
  server.server.emit('listening');
}

/** What every request meets first, and every reply carries. */
function welcome(request: FastifyRequest, reply: FastifyReply, settings: HttpSettings): void {
  void reply.headers(commonHeaders(request.id));
  if (settings.isDraining()) void reply.header('connection', 'close');
  if (request.raw.httpVersion === '1.1' && request.headers.host === undefined) {
    throw new ServiceError('InvalidInput', 'The request has no Host header.');
  }
  refuseManyHeaders(request, settings.limits.http.headersMax);
  refuseOtherAuthority(request);
}

/** Node counts no further than 2000, and drops the rest without a word. */
function refuseManyHeaders({ raw }: FastifyRequest, headersMax: number): void {
  if (raw.rawHeaders.length <= 2 * headersMax) return;
  throw new ServiceError('HeadersTooLarge', `The request has more than ${headersMax} headers.`);
}

/** An address in full names a host, which counts before the header (RFC 9112, 3.2.2): two that differ mislead somebody. */
function refuseOtherAuthority({ raw }: FastifyRequest): void {
  if (raw.url?.startsWith('/') === true) return;
  const authority = /^https?:\/\/([^/?#]*)/i.exec(raw.url ?? '')?.[1];
  if (authority === undefined || authority.toLowerCase() === raw.headers.host?.toLowerCase()) return;
  throw new ServiceError('InvalidInput', 'The host in the address is another than the one in the Host header.');
}

function createFastify(settings: HttpSettings): FastifyInstance {
  const { http } = settings.limits;
  const options = {
    logger: false,
    exposeHeadRoutes: true,
    requestIdHeader: false,
    bodyLimit: Number.MAX_SAFE_INTEGER,
    connectionTimeout: 0,
    requestTimeout: 0,
    keepAliveTimeout: http.keepAliveSeconds * 1000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    genReqId: chooseRequestId,
    rewriteUrl: decodePlusSigns,
    clientErrorHandler: refuseUnreadable,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) =>
      void refuse(
        request,
        reply,
        new ServiceError('InvalidInput', 'The address is malformed.', { cause: error }),
        settings,
      ),
    routerOptions: {
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
      caseSensitive: true,
      maxParamLength: http.headerBytesMax,
    },
  } as const;
  const nodeOptions = {
    maxHeaderSize: http.headerBytesMax,
    headersTimeout: http.headersSeconds * 1000,
    connectionsCheckingInterval: 1000,
    noDelay: true,
    requireHostHeader: false,
  };
  if (settings.tls === undefined) return Fastify({ ...options, http: nodeOptions });
  const secure: unknown = Fastify({
    ...options,
    https: { ...nodeOptions, handshakeTimeout: nodeOptions.headersTimeout, ...settings.tls },
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The two kinds of server differ only in the socket below, which nothing here touches.
  return secure as FastifyInstance;
}

function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  error: ServiceError,
  settings: HttpSettings,
): FastifyReply {
  const path = pathOf(request);
  const place = { instance: path, dialect: chooseDialect(path, request.headers['user-agent']) };
  const { status, headers, body } = toErrorReply(error, place);
  const outgoing = toJsonOutgoing(status, { ...commonHeaders(request.id), ...headers }, body);
  settings.services.telemetry.emit({
    kind: 'request-finished',
    requestId: request.id,
    operation: undefined,
    method: request.method,
    dialect: place.dialect,
    route: undefined,
    status,
    milliseconds: reply.elapsedTime,
    caller: undefined,
    database: undefined,
    bytesIn: 0,
    bytesOut: Buffer.byteLength(outgoing.body),
    errorKind: error.kind,
    cause: error.cause,
  });
  discardRest(request.raw, DISCARD_BOUNDS);
  return reply.code(status).headers(outgoing.headers).send(outgoing.body);
}

function pathOf(request: FastifyRequest): string {
  return request.raw.url?.split('?', 1)[0] ?? '';
}
