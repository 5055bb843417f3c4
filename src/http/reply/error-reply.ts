import { ServiceError, statusText } from '../../errors/service-error.ts';
import type { Dialect } from '../../operations/operation.ts';
import type { ErrorBody } from '../../wire/shapes.ts';
import { statusFor } from '../dialects.ts';
import { OPERATIONS } from '../../operations/registry.ts';
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { commonHeaders, toJsonOutgoing } from './reply.ts';

export interface ErrorReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorBody;
}

export interface ErrorPlace {
  readonly instance: string;
  readonly dialect: Dialect;
}

const INSTANCE_CHARACTERS_MAX = 2048;

export function toErrorReply(error: ServiceError, place: ErrorPlace): ErrorReply {
  const status = statusFor(error.kind, place.dialect);
  const { type, title } = statusText(status);
  return {
    status,
    headers: errorHeaders(error, status),
    body: {
      type,
      title,
      status,
      detail: error.detail,
      instance: place.instance.slice(0, INSTANCE_CHARACTERS_MAX),
      code: error.row.code,
      error: error.message,
    },
  };
}

/** Anything that is not a refusal of ours is a fault of ours: the caller learns nothing of it, the log everything. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (isUnreadableMediaType(error)) {
    return new ServiceError('UnsupportedMediaType', 'The Content-Type of the body is not a media type.', {
      cause: error,
    });
  }
  return new ServiceError('Internal', 'The service failed to answer this request.', { cause: error });
}

/** The framework reads the media type before any handler runs, and refuses by itself what it cannot read. */
function isUnreadableMediaType(error: unknown): boolean {
  return error instanceof Error && 'statusCode' in error && error.statusCode === 415;
}

function errorHeaders(error: ServiceError, status: number): Record<string, string> {
  const headers: Record<string, string> = {};
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="tiltyard", ApiKey realm="tiltyard"';
  if (error.row.retryable) headers['retry-after'] = String(error.retryAfterSeconds ?? 1);
  return headers;
}

export interface NoRoute {
  readonly refusal: ServiceError;
  readonly headers: Readonly<Record<string, string>>;
}

/** Addresses beside the operations, all of them to be read. */
const PAGES = ['/healthz', '/readyz', '/docs', '/openapi.json'];

export interface RouteSettings {
  readonly basePath: string;
  readonly metrics: { readonly access: string };
}

/** Nothing is at the address, or something is, but not for this method; RFC 9110 wants the methods in `Allow` then. */
export function explainNoRoute(method: string, path: string, settings: RouteSettings): NoRoute {
  const { basePath } = settings;
  const methods = methodsAt(path.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, ''), settings);
  if (methods.length === 0) {
    const hint = `The addresses are listed at ${basePath}/docs and ${basePath}/openapi.json.`;
    return { refusal: new ServiceError('RouteNotFound', 'There is nothing at this address.', { hint }), headers: {} };
  }
  const refusal = new ServiceError('MethodNotAllowed', `The method ${method} is not offered at this address.`, {
    hint: `Use ${methods.join(' or ')}.`,
  });
  return { refusal, headers: { allow: methods.join(', ') } };
}

function methodsAt(path: string, { basePath, metrics }: RouteSettings): readonly string[] {
  const pages = metrics.access === 'off' ? PAGES : [...PAGES, '/metrics'];
  const routes = [
    ...OPERATIONS.flatMap(({ methods, path: pattern, pathOfRoot = pattern }) =>
      methods.flatMap((method) => [pattern, pathOfRoot].map((at) => ({ method, pattern: `${basePath}${at}` }))),
    ),
    ...pages.map((page) => ({ method: 'GET', pattern: `${basePath}${page}` })),
  ];
  const methods: string[] = routes.filter(({ pattern }) => fits(pattern, path)).map(({ method }) => method);
  return [...new Set(methods)].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}

function fits(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  return wanted.length === given.length && wanted.every((part, index) => part.startsWith(':') || part === given[index]);
}

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
