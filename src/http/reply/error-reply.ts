import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ServiceError, invalidInput, STATUS_TEXTS } from '../../errors/service-error.ts';
import type { ErrorBody } from '../../wire/shapes.ts';
import { statusFor } from '../dialects.ts';
import type { RequestContext } from '../request-context.ts';
import { commonHeaders, toJsonReply } from './reply.ts';
import type { TextReply } from './reply.ts';

const INSTANCE_CHARACTERS_MAX = 2048;

export function toErrorReply(
  error: ServiceError,
  { path, dialect, requestId }: Pick<RequestContext, 'path' | 'dialect' | 'requestId'>,
  extraHeaders: Readonly<Record<string, string>> = {},
): TextReply {
  const status = statusFor(error.kind, dialect);
  const { type, title } = STATUS_TEXTS[status];
  const headers = { ...commonHeaders(requestId), ...extraHeaders, ...errorHeaders(error, status) };
  const body: ErrorBody = {
    type,
    title,
    status,
    detail: error.detail,
    instance: path.slice(0, INSTANCE_CHARACTERS_MAX),
    code: error.traits.code,
    error: error.message,
    ...(error.outcome === undefined ? {} : { outcome: error.outcome }),
  };
  return toJsonReply(status, headers, body);
}

/** Any other error becomes an internal one: its cause is for the log, not the caller. */
export function toPublicError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (isUnreadableMediaType(error)) {
    return new ServiceError('UnsupportedMediaType', 'The Content-Type of the body is not a valid media type.', {
      cause: error,
    });
  }
  return new ServiceError('Internal', 'The server failed to process this request.', { cause: error });
}

/** The framework parses the media type before any handler runs. */
function isUnreadableMediaType(error: unknown): boolean {
  return error instanceof Error && 'statusCode' in error && error.statusCode === 415;
}

function errorHeaders(error: ServiceError, status: number): Record<string, string> {
  const headers: Record<string, string> = {};
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="tiltyard", ApiKey realm="tiltyard"';
  if (error.traits.retryable) headers['retry-after'] = String(error.retryAfterSeconds ?? 1);
  return headers;
}

/** How long the client has to read the refusal. */
const LINGER_MILLISECONDS = 1000;

/**
 * Bytes that the HTTP parser cannot read get an error body too; then the connection is closed, because it is out of
 * sync.
 */
export function refuseUnreadable(error: Error & { readonly code?: string }, socket: Socket): void {
  const refusal = explainParserError(error.code);
  if (refusal === undefined || !socket.writable) socket.destroy();
  else refuseAndClose(refusal, socket);
}

/** Without this, Node closes the connection of a CONNECT request without a reply. */
export function refuseTunnel(_request: unknown, socket: Duplex): void {
  socket.on('error', () => {});
  refuseAndClose(new ServiceError('MethodNotAllowed', 'The method CONNECT is not offered.'), socket);
}

function refuseAndClose(refusal: ServiceError, socket: Duplex): void {
  const { status, headers, body } = toErrorReply(refusal, { path: '', dialect: 'lance', requestId: randomUUID() });
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const length = Buffer.byteLength(body);
  socket.end(
    `HTTP/1.1 ${status} Refused\r\n${lines.join('\r\n')}\r\nconnection: close\r\ncontent-length: ${length}\r\n\r\n${body}`,
  );
  // Closing at once, with unread bytes from the client, would reset the connection and lose the reply.
  const timer = setTimeout(() => socket.destroy(), LINGER_MILLISECONDS).unref();
  socket.once('close', () => clearTimeout(timer));
}

/** `undefined` for a broken connection or a failed TLS handshake. */
function explainParserError(code: string | undefined): ServiceError | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new ServiceError('HeadersTooLarge', 'The headers of the request are too large.');
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new ServiceError('RequestTimeout', 'The request did not arrive in time.');
  }
  return code?.startsWith('HPE_') === true ? invalidInput('The request is not valid HTTP/1.1.') : undefined;
}
