import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError, invalidInput } from '../errors/service-error.ts';
import type { Operation } from '../operations/operation.ts';
import { OPERATIONS } from '../operations/registry.ts';
import type { RequestSpans } from '../telemetry/traces/request-spans.ts';
import { handleRequest } from './handle-request.ts';
import type { HttpDependencies } from './handle-request.ts';
import { mountConsole } from './pages/console.ts';
import { mountMcp } from './pages/mcp-endpoint.ts';
import type { McpRouteSettings } from './pages/mcp-endpoint.ts';
import { mountOpenApi } from './pages/openapi.ts';
import { mountMetrics, mountProbes } from './pages/monitoring.ts';
import type { FindFault, MetricsSettings } from './pages/monitoring.ts';
import { mountTokenEndpoint } from './pages/token-endpoint.ts';
import type { TokenRouteSettings } from './pages/token-endpoint.ts';
import { toErrorReply, toPublicError } from './reply/error-reply.ts';
import { commonHeaders } from './reply/reply.ts';
import { sendWhole } from './reply/send-reply.ts';
import { RequestContext } from './request-context.ts';

export interface RouteSettings extends TokenRouteSettings, McpRouteSettings {
  /** Where the build puts the files of the console. */
  readonly consoleFile: string;
  readonly tracer: RequestSpans | undefined;
  readonly findFault: FindFault;
  readonly metrics: MetricsSettings;
}

export function addRoutes(server: FastifyInstance, settings: RouteSettings): void {
  const prefixes = [...new Set(['', settings.basePath])];
  server.removeAllContentTypeParsers();
  // The request pipeline reads bodies, after authentication.
  server.addContentTypeParser('*', (_request, _payload, done) => done(null));
  // No route takes it, but without a Content-Type Fastify would refuse it before the search for a route.
  server.addHttpMethod('QUERY', { hasBody: false, overrideExisting: true });
  server.addHook('onRequest', (request, reply, done) => {
    void reply.headers(commonHeaders(request.id));
    if (settings.isDraining()) void reply.header('connection', 'close');
    checkHead(request, settings);
    done();
  });
  const routes: Route[] = [];
  server.addHook('onRoute', ({ method, url }) => void routes.push({ methods: [method].flat(), pattern: url }));
  server.setNotFoundHandler((request, reply) => {
    refuse({ request, reply, ...explainNoRoute(request, routes, settings) }, settings);
  });
  server.setErrorHandler((error, request, reply) => refuse({ request, reply, error: toPublicError(error) }, settings));
  for (const operation of OPERATIONS) mount(server, operation, settings);
  mountProbes(server, prefixes, settings.findFault);
  mountMetrics(server, prefixes, settings);
  mountOpenApi(server, settings);
  mountConsole(server, settings);
  mountTokenEndpoint(server, settings);
  mountMcp(server, settings);
}

/** One operation is one route; the router ignores a trailing slash. */
function mount(server: FastifyInstance, operation: Operation, settings: RouteSettings): void {
  const { basePath, tracer } = settings;
  const { inRequest } = settings.services.catalog;
  if (operation.permission === undefined) throw new Error(`The operation ${operation.id} declares no permission.`);
  const handler = async ({ raw, id, params }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const context = new RequestContext({ message: raw, response: reply.raw, requestId: id, operation }, settings);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The router fills it from the operation's path.
    const routed = { context, operation, params: params as Readonly<Record<string, string>> };
    const onSpan = (traceresponse: string): void => void reply.raw.setHeader('traceresponse', traceresponse);
    const handle = async (): Promise<void> => {
      if (tracer === undefined) return handleRequest(routed, settings);
      return tracer.run(raw.headers, onSpan, async () => handleRequest(routed, settings));
    };
    return inRequest === undefined ? handle() : inRequest(handle);
  };
  for (const path of [operation.path, operation.pathOfRoot]) {
    if (path !== undefined) server.route({ method: [...operation.methods], url: `${basePath}${path}`, handler });
  }
}

function checkHead({ raw }: FastifyRequest, { limits }: RouteSettings): void {
  const { headersMax } = limits.http;
  if (raw.httpVersion === '1.1' && raw.headers.host === undefined) {
    throw invalidInput('The request has no Host header.');
  }
  // Node parses up to 2000 headers and drops the rest silently.
  if (raw.rawHeaders.length > 2 * headersMax) {
    throw new ServiceError('HeadersTooLarge', `The request has more than ${headersMax} headers.`);
  }
  refuseOtherAuthority(raw);
}

/** The host of an absolute address takes precedence over the header (RFC 9112, 3.2.2); a mismatch is an attack. */
function refuseOtherAuthority({ url = '', headers }: FastifyRequest['raw']): void {
  if (url.startsWith('/')) return;
  const authority = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1];
  if (authority === undefined || authority.toLowerCase() === headers.host?.toLowerCase()) return;
  throw invalidInput('The host in the URL differs from the Host header.');
}

interface Refusal {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly error: ServiceError;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Refuses a request that reached no operation. */
export function refuse({ request, reply, error, headers }: Refusal, http: HttpDependencies): void {
  const startedAt = performance.now() - reply.elapsedTime;
  const context = new RequestContext(
    { message: request.raw, response: reply.raw, requestId: request.id, startedAt },
    http,
  );
  const refusal = toErrorReply(error, context, headers);
  context.bytesIn = 0;
  context.finish(refusal.status, Buffer.byteLength(refusal.body), error);
  sendWhole(context, refusal, http);
}

interface Route {
  readonly methods: readonly string[];
  readonly pattern: string;
}

/** 404, or 405 with `Allow` (RFC 9110) if the address exists for other methods. */
function explainNoRoute(
  { method, raw }: FastifyRequest,
  routes: readonly Route[],
  { basePath }: RouteSettings,
): Pick<Refusal, 'error' | 'headers'> {
  const path = (raw.url?.split('?', 1)[0] ?? '').replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '');
  const found = routes.filter(({ pattern }) => matches(pattern, path));
  const methods = [...new Set(found.flatMap((route) => route.methods))].toSorted();
  // The name of a missing file still matches the route.
  if (methods.length === 0 || methods.includes(method)) {
    const hint = `All routes are listed at ${basePath}/docs and ${basePath}/openapi.json.`;
    return { error: new ServiceError('RouteNotFound', 'This route does not exist.', { hint }) };
  }
  const hint = `Use ${methods.join(' or ')}.`;
  const error = new ServiceError('MethodNotAllowed', `This route does not support the method ${method}.`, { hint });
  return { error, headers: { allow: methods.join(', ') } };
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  return wanted.length === given.length && wanted.every((part, index) => part.startsWith(':') || part === given[index]);
}
