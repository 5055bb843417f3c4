import Fastify from 'fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ServiceError } from '../errors/service-error.ts';
import { endsWithin } from '../model/time/ends-within.ts';
import { Connections, InFlight } from './admission/in-flight.ts';
import { RefusalCache } from './admission/refusal-cache.ts';
import { refuseTunnel, refuseUnreadable } from './reply/error-reply.ts';
import { chooseRequestId } from './request/headers.ts';
import { decodePlusSigns } from './request/url.ts';
import { addRoutes, refuse } from './routes.ts';
import type { RouteSettings } from './routes.ts';

export interface HttpSettings extends Omit<RouteSettings, 'refusalCache'> {
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | undefined;
}

export type HttpServer = Awaited<ReturnType<typeof createHttpServer>>;

/** How long replies may still be sent when the server closes. */
const LAST_REPLIES_SECONDS = 1;

export async function createHttpServer(options: HttpSettings) {
  const { telemetry } = options.services;
  const refusalCache = new RefusalCache({
    admission: options.load.admission,
    telemetry,
    isEnabled: () => !options.isDraining() && options.tracer === undefined,
    now: () => performance.now(),
  });
  const settings = { ...options, refusalCache };
  const fastify = createFastify(settings);
  const { server } = fastify;
  refusalCache.guard(server);
  // In flight until the last byte of the reply is sent, or the connection is closed.
  const responses = new InFlight();
  server.on('request', (_request, response) => {
    responses.begin();
    response.once('close', () => responses.end());
    response.once('prefinish', () => disconnectIdleReader(response, settings.limits.http.bodyIdleSeconds));
  });
  const connections = new Connections(settings.limits.http.connectionsMax, (count) =>
    telemetry.emit({ kind: 'connections-refused', count }),
  );
  addRoutes(fastify, settings);
  await fastify.ready();
  // Node refuses an unknown expectation without a body; RFC 9110 allows ignoring it.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('connect', refuseTunnel);
  // Node starts its timer for slow headers when a server listens; this server receives its connections instead.
  server.emit('listening');
  return {
    /** Takes over a connection that the supervisor accepted. */
    accept(socket: Socket): void {
      if (connections.admit(socket)) server.emit('connection', socket);
    },
    connections: (): number => connections.open,
    closeIdleConnections(): void {
      // Node considers a connection idle while its reply is written but not sent.
      if (responses.count === 0) server.closeIdleConnections();
    },
    async close(): Promise<void> {
      await endsWithin(LAST_REPLIES_SECONDS, responses.whenIdle());
      refusalCache.report();
      server.closeAllConnections();
      await fastify.close();
    },
  };
}

/** A client that stops reading must not keep the end of its reply in memory forever. Node closes its connection. */
function disconnectIdleReader(response: ServerResponse, idleSeconds: number): void {
  if (response.writableLength === 0) return;
  response.setTimeout(idleSeconds * 1000);
  // Before Node's own listener, which sets the timeout of an idle connection.
  response.prependOnceListener('finish', () => response.setTimeout(0));
}

/** Operations validate their own input. Without this, Fastify loads its compilers for schemas at every start. */
function refuseSchema(): never {
  throw new Error('A route has a schema for Fastify.');
}

function createFastify(settings: RouteSettings & Pick<HttpSettings, 'tls'>): FastifyInstance {
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
    schemaController: { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } },
    frameworkErrors(cause: Error, request: FastifyRequest, reply: FastifyReply) {
      const error = new ServiceError('InvalidInput', 'The URL is malformed.', { cause });
      refuse({ request, reply, error }, settings);
    },
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
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The two kinds of server differ only in the socket, which is not used here.
  return secure as FastifyInstance;
}
