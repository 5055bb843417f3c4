import type { IncomingMessage } from 'node:http';
import type { Credentials } from '../../auth/authenticator.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { DEFAULT_DATABASE } from '../../model/table.ts';
import { randomUUID } from 'node:crypto';

/** Headers that must not come twice: which of the two counts would be anybody's guess. */
const SINGLE_HEADERS = new Set([
  'authorization',
  'x-api-key',
  'x-service-database',
  'x-lancedb-database',
  'host',
  'content-type',
  'content-length',
]);

export function refuseDoubledHeaders(message: IncomingMessage): void {
  const seen = new Set<string>();
  for (let index = 0; index < message.rawHeaders.length; index += 2) {
    const name = message.rawHeaders[index]?.toLowerCase() ?? '';
    if (!SINGLE_HEADERS.has(name)) continue;
    if (seen.has(name)) throw new ServiceError('InvalidInput', `The header ${name} is given twice.`);
    seen.add(name);
  }
}

export function readHeaderCredentials(message: IncomingMessage): Credentials {
  return { apiKey: readApiKey(message), bearer: readBearer(message.headers.authorization) };
}

/** The body's `identity`, for callers that can set no headers. */
export function readIdentity(body: Readonly<Record<string, unknown>>): Credentials {
  const identity = body['identity'];
  if (typeof identity !== 'object' || identity === null) return { apiKey: undefined, bearer: undefined };
  const { api_key: apiKey, auth_token: bearer } = identity as {
    readonly api_key?: unknown;
    readonly auth_token?: unknown;
  };
  return {
    apiKey: typeof apiKey === 'string' ? apiKey : undefined,
    bearer: typeof bearer === 'string' ? bearer : undefined,
  };
}

export function hasCredential(credentials: Credentials): boolean {
  return credentials.apiKey !== undefined || credentials.bearer !== undefined;
}

function readApiKey(message: IncomingMessage): string | undefined {
  const header = message.headers['x-api-key'];
  return typeof header === 'string' && header !== '' ? header : undefined;
}

/** An Authorization header of another scheme is a credential that cannot be valid here, not the absence of one. */
function readBearer(header: string | undefined): string | undefined {
  if (header === undefined || header === '') return undefined;
  const match = /^bearer +(\S+) *$/i.exec(header);
  if (match?.[1] !== undefined) return match[1];
  throw new ServiceError('Unauthenticated', 'The Authorization header is not of the form "Bearer <token>".');
}

/** The database that a request is about: by header, by host name below the configured suffix, or the default one. */
export function readDatabaseName(message: IncomingMessage, hostSuffix: string | undefined): string {
  const byService = readHeader(message, 'x-service-database');
  const byAlias = readHeader(message, 'x-lancedb-database');
  const byHost = readHostDatabase(message.headers.host, hostSuffix);
  const names = [byService, byAlias, byHost].filter((name) => name !== undefined);
  if (new Set(names).size > 1) {
    throw new ServiceError('InvalidInput', 'The headers and the host name do not name the same database.', {
      hint: 'Name it once, in x-service-database or in the host name.',
    });
  }
  return names[0] ?? DEFAULT_DATABASE;
}

function readHeader(message: IncomingMessage, name: string): string | undefined {
  const header = message.headers[name];
  return typeof header === 'string' && header !== '' ? header : undefined;
}

function readHostDatabase(host: string | undefined, suffix: string | undefined): string | undefined {
  if (host === undefined || suffix === undefined) return undefined;
  const name = host.replace(/:\d+$/, '').toLowerCase();
  const ending = `.${suffix.toLowerCase()}`;
  if (!name.endsWith(ending)) return undefined;
  // A name of several labels is one that no database may have, never the default database.
  return name.slice(0, -ending.length);
}

const PREFIX = 'header.';

/** What a body's context may not stand in for: who asks, what for, and how the bytes travel. */
const NEVER_FROM_CONTEXT = new Set([
  'authorization',
  'x-api-key',
  'x-service-database',
  'x-lancedb-database',
  'x-lancedb-database-prefix',
  'host',
  'cookie',
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'content-length',
  'content-type',
  'content-encoding',
]);

export type HeaderReader = (name: string) => string | undefined;

/** A header that was sent, else the entry `header.<name>` of the body's context. */
export function headerReader(message: IncomingMessage, context: unknown): HeaderReader {
  const fromContext = readContextHeaders(context);
  return (name) => {
    const sent = message.headers[name];
    if (sent !== undefined) return Array.isArray(sent) ? sent.join(', ') : sent;
    return fromContext.get(name);
  };
}

function readContextHeaders(context: unknown): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  if (typeof context !== 'object' || context === null) return headers;
  for (const [key, value] of Object.entries(context)) {
    if (!key.toLowerCase().startsWith(PREFIX) || typeof value !== 'string') continue;
    const name = key.slice(PREFIX.length).toLowerCase();
    if (!NEVER_FROM_CONTEXT.has(name)) headers.set(name, value);
  }
  return headers;
}

interface WithHeaders {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export const REQUEST_ID_HEADER = 'x-request-id';

/** The caller's own id, if it sent one that can stand in a log line; else one of ours. */
export function chooseRequestId(message: WithHeaders): string {
  return readRequestId(message.headers[REQUEST_ID_HEADER]) ?? randomUUID();
}

export function readRequestId(sent: unknown): string | undefined {
  return typeof sent === 'string' && /^[\w.:-]{1,128}$/.test(sent) ? sent : undefined;
}
