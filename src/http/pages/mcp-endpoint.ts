import type { FastifyInstance } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { ApiClient } from '../../client/api-client.ts';
import type { McpHandler } from '../../mcp/mcp-handler.ts';
import { CallerSlots } from '../admission/caller-slots.ts';
import type { HttpDependencies } from '../handle-request.ts';
import { createLocalFetch } from '../local-fetch.ts';
import { toErrorReply, toPublicError } from '../reply/error-reply.ts';
import { commonHeaders } from '../reply/reply.ts';
import { sendStream, sendWhole } from '../reply/send-reply.ts';
import { RequestContext } from '../request-context.ts';
import { readJsonBody } from '../request/body.ts';
import { readHeaderCredentials, refuseDoubledHeaders } from '../request/headers.ts';
import { requireOwnHost } from '../request/own-host.ts';

export interface McpRouteSettings extends HttpDependencies {
  readonly basePath: string;
  readonly release: string;
  readonly mcp: { readonly enabled: boolean; readonly writes: boolean };
}

const PATH = '/mcp';
const OPERATION = { id: 'mcp', path: PATH };

/** The Model Context Protocol over streamable HTTP, without sessions. The tools send requests to this server. */
export function mountMcp(server: FastifyInstance, settings: McpRouteSettings): void {
  const { release, mcp, limits, basePath } = settings;
  const { telemetry } = settings.services;
  if (!mcp.enabled) return;
  const onFailure = (cause: unknown): void =>
    telemetry.emit({ kind: 'background-failed', task: 'a tool of /mcp', cause });
  let handler: Promise<McpHandler> | undefined;
  // Loads its packages with the first request: most servers never get one.
  const load = async (): Promise<McpHandler> => {
    const { createMcp } = await import('../../mcp/mcp-handler.ts');
    return createMcp({ release, writes: mcp.writes, limits: limits.mcp, onFailure });
  };
  const { reservedPercent } = limits.http;
  const slots = new CallerSlots({ slotsMax: limits.mcp.requestsMax, reservedPercent, path: PATH });
  const parts: EndpointParts = { server, slots, http: settings, handler: async () => (handler ??= load()) };
  server.route({
    method: 'POST',
    url: `${basePath}${PATH}`,
    async handler({ raw: message, id: requestId }, reply) {
      const context = new RequestContext(
        { message, response: reply.raw, requestId, operation: OPERATION, dialect: 'lance' },
        settings,
      );
      try {
        await send(context, await execute(context, parts), settings);
      } catch (error) {
        const failure = toPublicError(error);
        const refusal = toErrorReply(failure, context);
        context.finish(refusal.status, Buffer.byteLength(refusal.body), failure);
        sendWhole(context, refusal, settings);
      }
    },
  });
}

interface EndpointParts {
  readonly server: FastifyInstance;
  readonly slots: CallerSlots;
  readonly http: McpRouteSettings;
  readonly handler: () => Promise<McpHandler>;
}

async function execute(context: RequestContext, { server, slots, http, handler }: EndpointParts): Promise<Response> {
  const { message, requestId } = context;
  refuseDoubledHeaders(message);
  requireOwnHost(message, http);
  const credentials = readHeaderCredentials(message);
  const caller = await http.authenticator.authenticate(credentials);
  context.caller = caller.id;
  // Counts only the rate: the operations that a tool calls count as reads and writes in progress.
  http.load.quotas.enterRate(caller, context.response);
  const body = await readBody(context, http);
  // After the body is read, because a slow sender must not hold a slot.
  context.slot = slots.enter(caller.id);
  const client = new ApiClient({
    url: `http://localhost${http.basePath}`,
    key: credentials.apiKey,
    token: credentials.bearer,
    fetch: createLocalFetch(server, { headers: message.headers, requestId }),
  });
  const request = new Request(`http://localhost${PATH}`, {
    method: 'POST',
    headers: readHeaders(message),
    signal: context.signal(),
  });
  return (await handler()).handle({ request, body, caller, client });
}

/** Its memory is counted only until it is parsed: the requests of the tools use the same budget. */
async function readBody(
  { message, caller = '', signal, received }: RequestContext,
  { load, limits }: McpRouteSettings,
) {
  const lease = load.jsonMemory.lease(caller, signal);
  try {
    const bytesMax = limits.mcp.requestBytesMax;
    const options = { bytesMax, limits: limits.http, load, lease, onReceived: received };
    return await readJsonBody(message, { ...options, keep: () => {}, readArrow: undefined });
  } finally {
    lease.close();
  }
}

/** Headers of the protocol. */
const HEADERS = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-session-id', 'mcp-method', 'mcp-name'];

function readHeaders({ headers }: IncomingMessage): Record<string, string> {
  const pairs = HEADERS.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]]] : []));
  return { 'content-type': 'application/json', ...Object.fromEntries(pairs) };
}

async function send(context: RequestContext, { status, headers, body }: Response, http: McpRouteSettings) {
  const reply = { status, headers: { ...commonHeaders(context.requestId), ...Object.fromEntries(headers) } };
  if (body === null) {
    context.finish(status, 0);
    sendWhole(context, { ...reply, body: '' }, http);
    return;
  }
  const outcome = await sendStream(context, { ...reply, body: { first: [], rest: body.values() } }, http);
  const failure = outcome.failure === undefined ? undefined : toPublicError(outcome.failure);
  context.finish(status, outcome.bytes, failure);
}
