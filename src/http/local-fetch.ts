import type { FastifyInstance } from 'fastify';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { finished } from 'node:stream';
import type { Readable } from 'node:stream';

/** Headers that an internal request inherits from the request that it belongs to, unless it sets them. */
const INHERITED = ['host', 'traceparent', 'tracestate', 'x-service-database', 'x-lancedb-database'];

/**
 * `fetch` for front ends inside this process: requests run through the whole pipeline, with authentication, admission
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
    const stream = reply.stream();
    // There is no connection, so nothing else tells the response that its reader has left.
    finished(stream, () => void reply.raw.res.destroy());
    const sent = Object.entries(reply.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const hasBody = ![204, 304].includes(reply.statusCode);
    return new Response(hasBody ? toWebStream(stream) : null, { status: reply.statusCode, headers: sent });
  };
}

/** Whether a front end inside this process sent the request, without a connection. */
export function isLocal({ socket }: IncomingMessage): boolean {
  return !(socket instanceof Socket);
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

/** Replaces `Readable.toWeb`, which throws uncatchably if a reader leaves while data arrives. */
function toWebStream(stream: Readable): ReadableStream<Uint8Array> {
  const pieces = stream[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => void stream.destroy(),
  });
}
