import type { FastifyInstance } from 'fastify';
import type { TokenEndpoint } from '../../auth/issuer/token-endpoint.ts';
import type { HttpDependencies } from '../handle-request.ts';
import { commonHeaders } from '../reply/reply.ts';
import { discardRest } from '../request/body.ts';
import { createClientAddress } from '../request/client-address.ts';
import { RequestContext } from '../request-context.ts';

export interface TokenRouteSettings extends HttpDependencies {
  readonly tokenEndpoint: TokenEndpoint | undefined;
  readonly basePath: string;
  readonly trustedProxies: readonly string[];
  /** Relative to the base path. */
  readonly tokenEndpointPath: string;
}

/** The only routes of the library that are exposed. */
const ROUTES = [
  { route: 'discovery', method: 'GET', path: '/.well-known/openid-configuration' },
  { route: 'keys', method: 'GET', path: '/jwks' },
  { route: 'token', method: 'POST', path: '/token' },
] as const;

/** The token endpoint replies in OAuth format, as its clients expect. */
export function mountTokenEndpoint(server: FastifyInstance, settings: TokenRouteSettings): void {
  const { tokenEndpoint, tokenEndpointPath, basePath } = settings;
  if (tokenEndpoint === undefined) return;
  const addressOf = createClientAddress(settings.trustedProxies);
  for (const { route, method, path } of ROUTES) {
    const operation = { id: `oauth_${route}`, path: `${tokenEndpointPath}${path}` };
    server.route({
      method,
      url: `${basePath}${tokenEndpointPath}${path}`,
      async handler({ raw: message, id: requestId }, reply) {
        reply.hijack();
        const { raw: response } = reply;
        for (const [name, value] of Object.entries(commonHeaders(requestId))) response.setHeader(name, value);
        if (settings.isDraining()) response.setHeader('connection', 'close');
        response.once('prefinish', () => discardRest(message));
        const context = new RequestContext({ message, response, requestId, operation, dialect: 'lance' }, settings);
        await answer(context, settings.limits.http.bodyIdleSeconds, async () =>
          tokenEndpoint.answer({ path, request: message, response, address: addressOf(message) }),
        );
      },
    });
  }
}

async function answer(
  context: RequestContext,
  bodySeconds: number,
  send: () => ReturnType<TokenEndpoint['answer']>,
): Promise<void> {
  const { message, response } = context;
  // The library waits for a body without a timeout.
  const timer = setTimeout(() => message.destroy(), bodySeconds * 1000);
  let cause: unknown;
  try {
    const { client, failure } = await send();
    if (client !== undefined) context.caller = `client:${client}`;
    cause = failure;
  } catch (error) {
    cause = error;
    if (!response.headersSent) {
      // The format of RFC 6749, section 5.2.
      response.writeHead(503, { 'content-type': 'application/json; charset=utf-8', 'retry-after': '1' });
      response.end(JSON.stringify({ error: 'temporarily_unavailable' }));
    }
  } finally {
    clearTimeout(timer);
  }
  context.finish(response.statusCode, Number(response.getHeader('content-length') ?? 0), { cause });
}
