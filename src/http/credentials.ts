import type { IncomingMessage } from 'node:http';
import type { Credentials } from '../auth/authenticator.ts';
import { ServiceError } from '../errors/service-error.ts';

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
