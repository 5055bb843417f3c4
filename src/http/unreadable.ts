import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ServiceError } from '../errors/service-error.ts';
import { toErrorReply } from './error-reply.ts';
import { commonHeaders, toJsonOutgoing } from './reply.ts';

/** How long the client has to read the refusal. */
const LINGER_MILLISECONDS = 1000;

/** Bytes that the HTTP parser cannot read get our error body too; then the connection ends, for nothing after them is safe. */
export function refuseUnreadable(error: Error & { readonly code?: string }, socket: Socket): void {
  const refusal = toRefusal(error.code);
  if (refusal === undefined || !socket.writable) {
    socket.destroy();
    return;
  }
  refuseAndClose(refusal, socket);
}

/** A tunnel through us is nothing that we offer; without this, node would close the connection without a word. */
export function refuseTunnel(_request: unknown, socket: Duplex): void {
  socket.on('error', ignore);
  refuseAndClose(new ServiceError('MethodNotAllowed', 'The method CONNECT is not offered.'), socket);
}

function refuseAndClose(refusal: ServiceError, socket: Duplex): void {
  const { status, body, headers } = toErrorReply(refusal, { instance: '', dialect: 'lance' });
  const outgoing = toJsonOutgoing(status, { ...commonHeaders(randomUUID()), ...headers }, body);
  const lines = Object.entries(outgoing.headers).map(([name, value]) => `${name}: ${value}`);
  const length = Buffer.byteLength(outgoing.body);
  socket.end(
    `HTTP/1.1 ${status} Refused\r\n${lines.join('\r\n')}\r\nconnection: close\r\ncontent-length: ${length}\r\n\r\n${outgoing.body}`,
  );
  // Closed at once, with bytes of the client still unread, the connection would be reset and the reply lost.
  const timer = setTimeout(() => socket.destroy(), LINGER_MILLISECONDS).unref();
  socket.once('close', () => clearTimeout(timer));
}

function ignore(): void {}

/** `undefined` when there is nobody to be told: a broken connection, or one that never became a secure one. */
function toRefusal(code: string | undefined): ServiceError | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new ServiceError('HeadersTooLarge', 'The headers of the request are too large.');
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new ServiceError('RequestTimeout', 'The request did not arrive in time.');
  }
  if (code?.startsWith('HPE_') === true) {
    return new ServiceError('InvalidInput', 'The request is not valid HTTP/1.1.');
  }
  return undefined;
}
