import type { FastifyInstance } from 'fastify';
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';

/** What a request of this process takes over from the one that it belongs to, unless it says otherwise itself. */
const INHERITED = ['host', 'traceparent', 'tracestate', 'x-service-database', 'x-lancedb-database'];

/**
 * `fetch` for front ends inside of this process: requests run through the whole pipeline, with authentication, admission
 * control, quotas, forwarding and telemetry, as if they had come over the network.
 */
export function createLocalFetch(
  server: FastifyInstance,
  { headers, requestId }: { readonly headers: IncomingHttpHeaders; readonly requestId: string },
): typeof fetch {
  const inherited = Object.fromEntries(INHERITED.flatMap((name) => headerOf(headers, name)));
  return async (input, init = {}) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    const reply = await server.inject({
      method: init.method === 'POST' ? 'POST' : 'GET',
      url: `${pathname}${search}`,
      headers: {
        ...inherited,
        'user-agent': 'tiltyard',
        'x-request-id': requestId,
        ...Object.fromEntries(new Headers(init.headers)),
      },
      payloadAsStream: true,
      ...(init.body === undefined || init.body === null ? {} : { payload: toBuffer(init.body) }),
      ...(init.signal === undefined || init.signal === null ? {} : { signal: init.signal }),
    });
    const sent = Object.entries(reply.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const hasBody = ![204, 304].includes(reply.statusCode);
    return new Response(hasBody ? toWebStream(reply.stream()) : null, { status: reply.statusCode, headers: sent });
  };
}

function headerOf(headers: IncomingHttpHeaders, name: string): [string, string][] {
  const value = headers[name];
  return typeof value === 'string' ? [[name, value]] : [];
}

function toBuffer(body: unknown): Buffer {
  if (typeof body === 'string') return Buffer.from(body);
  if (body instanceof Uint8Array) return Buffer.from(body);
  throw new TypeError('The body of a request within this process must be text or bytes.');
}

function toWebStream(stream: Readable): ReadableStream<Uint8Array> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Node declares the same class twice.
  return Readable.toWeb(stream) as ReadableStream<Uint8Array>;
}
