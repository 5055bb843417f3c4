import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Credentials } from '../../auth/authenticator.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { checkNames } from '../../model/identifier.ts';
import type { NamespacePath } from '../../model/identifier.ts';
import { isObject } from '../../model/strict-json.ts';
import { DEFAULT_DATABASE } from '../../model/table.ts';
import { acceptOf } from '../dialects.ts';

/** A second one would be ambiguous: proxies and servers disagree on which of the two applies. */
const SINGLE_HEADERS = new Set([
  'authorization',
  'x-api-key',
  'x-service-database',
  'x-lancedb-database',
  'host',
  'content-type',
  'content-length',
]);

export function refuseDoubledHeaders({ rawHeaders }: IncomingMessage): void {
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? '';
    if (!SINGLE_HEADERS.has(name)) continue;
    if (seen.has(name)) throw invalidInput(`The header ${name} is given twice.`);
    seen.add(name);
  }
}

export function readHeaderCredentials(message: IncomingMessage): Credentials {
  return { apiKey: readHeader(message, 'x-api-key'), bearer: readBearer(message.headers.authorization) };
}

/** The body's `identity`, for clients that cannot set headers. */
export function readIdentity(body: Readonly<Record<string, unknown>>): Credentials {
  const identity = body['identity'];
  if (!isObject(identity)) return { apiKey: undefined, bearer: undefined };
  const { api_key: apiKey, auth_token: bearer } = identity;
  return {
    apiKey: typeof apiKey === 'string' ? apiKey : undefined,
    bearer: typeof bearer === 'string' ? bearer : undefined,
  };
}

export function hasCredential(credentials: Credentials): boolean {
  return credentials.apiKey !== undefined || credentials.bearer !== undefined;
}

/** Another scheme is an invalid credential, not a missing one. */
function readBearer(header: string | undefined): string | undefined {
  if (header === undefined || header === '') return undefined;
  const match = /^bearer +(\S+) *$/i.exec(header);
  if (match?.[1] !== undefined) return match[1];
  throw new ServiceError('Unauthenticated', 'The Authorization header must have the form "Bearer <token>".');
}

/** The database of a request: from a header, from a host name below the configured suffix, or the default one. */
export function readDatabaseName(message: IncomingMessage, hostSuffix: string | undefined): string {
  const names = [
    readName(message, 'x-service-database'),
    readName(message, 'x-lancedb-database'),
    readHostDatabase(message.headers.host, hostSuffix),
  ].filter((name) => name !== undefined);
  if (names.some((name) => name !== names[0])) {
    throw invalidInput(
      'The headers and the host name give different databases.',
      'Give the database once, in x-service-database or in the host name.',
    );
  }
  return names[0] ?? DEFAULT_DATABASE;
}

function readHeader(message: IncomingMessage, name: string): string | undefined {
  const header = message.headers[name];
  return typeof header === 'string' && header !== '' ? header : undefined;
}

/** Node decodes headers as Latin-1; clients send names as UTF-8. */
function readName(message: IncomingMessage, name: string): string | undefined {
  const header = readHeader(message, name);
  if (header === undefined) return undefined;
  const bytes = Buffer.from(header, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : header;
}

function readHostDatabase(host: string | undefined, suffix: string | undefined): string | undefined {
  if (host === undefined || suffix === undefined) return undefined;
  const name = host.replace(/:\d+$/, '').toLowerCase();
  const ending = `.${suffix.toLowerCase()}`;
  if (!name.endsWith(ending)) return undefined;
  // No database name consists of several labels, so they never mean the default database.
  return name.slice(0, -ending.length);
}

/** The namespace of a LanceDB client whose database address includes a path. */
export function readPrefix(message: IncomingMessage, delimiter: string): NamespacePath {
  const prefix = readName(message, 'x-lancedb-database-prefix') ?? '';
  const names = prefix.split('/').filter((name) => name !== '');
  return checkNames(names, delimiter);
}

const REQUEST_ID_HEADER = 'x-request-id';

/** The client's id if it is safe to log; otherwise a new one. */
export function chooseRequestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  return toRequestId(headers[REQUEST_ID_HEADER]) ?? randomUUID();
}

export function readRequestId(header: HeaderReader): string | undefined {
  return toRequestId(header(REQUEST_ID_HEADER));
}

function toRequestId(sent: unknown): string | undefined {
  return typeof sent === 'string' && /^[\w.:-]{1,128}$/.test(sent) ? sent : undefined;
}

const CONTEXT_PREFIX = 'header.';

/** Headers that a body's context cannot override: credentials, the database, and framing. */
const NEVER_FROM_CONTEXT = new Set([
  ...SINGLE_HEADERS,
  'x-lancedb-database-prefix',
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
  'content-encoding',
]);

export type HeaderReader = (name: string) => string | undefined;

/** A header of the request, otherwise the entry `header.<name>` of the body's context. */
export function headerReader(message: IncomingMessage, context: unknown): HeaderReader {
  const fromContext = readContextHeaders(context);
  return (name) => {
    const sent = name === 'accept' ? acceptOf(message.headers) : message.headers[name];
    if (sent !== undefined) return Array.isArray(sent) ? sent.join(', ') : sent;
    return fromContext?.get(name);
  };
}

function readContextHeaders(context: unknown): ReadonlyMap<string, string> | undefined {
  if (!isObject(context)) return undefined;
  const headers = new Map<string, string>();
  for (const [key, value] of Object.entries(context)) {
    if (!key.toLowerCase().startsWith(CONTEXT_PREFIX) || typeof value !== 'string') continue;
    const name = key.slice(CONTEXT_PREFIX.length).toLowerCase();
    if (!NEVER_FROM_CONTEXT.has(name)) headers.set(name, value);
  }
  return headers;
}
