import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import type { Agent, ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { sampleStream } from '../support/arrow-tables.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { parseJson } from '../support/client.ts';
import type { Answer } from '../support/client.ts';

export interface RawRequest {
  readonly method?: string;
  /** Sent as it is: `fetch` would resolve dots and encode what it dislikes. */
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
  /** A pool of connections to take one from; else the connection is for this request alone. */
  readonly agent?: Agent;
}

/** A request with exactly these headers, and the administrator's key unless the headers bring their own. */
export async function sendRaw(url: string, raw: RawRequest): Promise<Answer> {
  const sent = openRaw(url, raw);
  sent.end(raw.body);
  return readAnswer(sent);
}

/** A request whose body is left open. */
export function openRaw(url: string, raw: RawRequest): ClientRequest {
  const { hostname, port } = new URL(url);
  return request({
    hostname,
    port,
    method: raw.method ?? 'POST',
    path: raw.path,
    headers: { 'x-api-key': ADMIN_KEY, ...raw.headers },
    agent: raw.agent ?? false,
  });
}

/** A create whose body does not end, until it is released: it then has its place in the service for itself. */
export async function holdUpload(server: { readonly url: string }, key = ADMIN_KEY): Promise<() => Promise<void>> {
  const stream = sampleStream(1);
  const headers = { 'x-api-key': key, 'content-type': 'application/vnd.apache.arrow.stream', expect: '100-continue' };
  const sent = openRaw(server.url, { path: '/v1/table/held/create?mode=overwrite', headers });
  sent.flushHeaders();
  // The service asks for the body when it has taken the request in.
  await once(sent, 'continue');
  sent.write(stream.subarray(0, 100));
  return async () => {
    sent.end(stream.subarray(100));
    assert.equal((await readAnswer(sent)).status, 200);
  };
}

export async function readAnswer(sent: ClientRequest): Promise<Answer> {
  const [message]: IncomingMessage[] = await once(sent, 'response');
  assert.ok(message);
  const text = (await buffer(message)).toString();
  return { status: message.statusCode ?? 0, headers: toHeaders(message), text, json: parseJson(text) };
}

/** Bytes that need not be HTTP at all; what comes back is taken apart by hand. */
export async function sendBytes(url: string, bytes: string): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  const [head = '', text = ''] = (await buffer(socket)).toString().split('\r\n\r\n', 2);
  const [line = '', ...fields] = head.split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(line)?.[1]);
  assert.ok(Number.isInteger(status), `no HTTP reply: ${head}`);
  const headers = new Headers(
    fields.map((field) => [field.slice(0, field.indexOf(':')), field.slice(field.indexOf(':') + 1).trim()]),
  );
  return { status, headers, text, json: parseJson(text) };
}

function toHeaders(message: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(message.headers)) headers.set(name, String(value));
  return headers;
}
