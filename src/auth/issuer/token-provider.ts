import type { IncomingMessage } from 'node:http';
import { Provider, errors } from 'oidc-provider';
import type { Context } from 'oidc-provider';
import { ServiceError } from '../../errors/service-error.ts';
import type { CredentialCatalog } from '../authenticator.ts';
import { digestSecret, isExpired } from '../keys/secrets.ts';
import type { FailedAttempts } from './failed-attempts.ts';
import { OWN_ALGORITHM, toPrivateJwk } from '../keys/signing-keys.ts';
import type { SigningKeyText } from '../keys/signing-keys.ts';

export interface TokenEndpointSettings {
  /** As clients see it, without a trailing slash. Also the audience of its tokens. */
  readonly issuer: string;
  readonly tokenSeconds: number;
  /** How many wrong secrets one address may send for one client in a minute. */
  readonly failuresPerMinuteMax: number;
}

interface ProviderParts {
  readonly settings: TokenEndpointSettings;
  /** Newest first; the first one signs. */
  readonly keys: readonly SigningKeyText[];
  readonly catalog: CredentialCatalog;
  readonly failures: FailedAttempts;
  /** The client address, even behind trusted proxies. */
  readonly addressOf: (request: IncomingMessage) => string;
  readonly clock: () => number;
}

/** The only scope, which has no effect: the permissions of a client are its grants. */
const SCOPE = 'tables';

/** The library with only the client credentials grant and signed tokens enabled. */
export function createProvider(parts: ProviderParts): Provider {
  const { settings, keys } = parts;
  const provider = new Provider(settings.issuer, {
    // Tokens are signed, not stored, so only clients are looked up.
    adapter: (model: string) => ({
      find: async (id: string) => (model === 'Client' ? findClient(parts, id) : undefined),
    }),
    jwks: { keys: keys.map(toPrivateJwk) },
    clientAuthMethods: ['client_secret_post', 'client_secret_basic'],
    clientDefaults: { id_token_signed_response_alg: OWN_ALGORITHM },
    scopes: [SCOPE],
    responseTypes: [],
    routes: { token: '/token', jwks: '/jwks' },
    ttl: { ClientCredentials: settings.tokenSeconds },
    // No exposed route sets a cookie; without keys, the library would still warn.
    cookies: { keys: [] },
    renderError: (context: Context, out: unknown) => {
      context.type = 'json';
      context.body = out;
    },
    features: {
      ...NOT_OFFERED,
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => settings.issuer,
        getResourceServerInfo: (_context: Context, resource: string) => describeResource(parts, resource),
      },
    },
  });
  provider.Client.prototype.compareClientSecret = async function compareClientSecret(actual) {
    return isSecret(parts, this.clientId, actual);
  };
  return provider.use(async (context, next) => {
    await next();
    if (context.oidc?.route === 'discovery') context.body = discoveryDocument(provider, settings.issuer);
  });
}

const NOT_OFFERED = Object.fromEntries(
  [
    'devInteractions',
    'userinfo',
    'rpInitiatedLogout',
    'pushedAuthorizationRequests',
    'dPoP',
    'claimsParameter',
    'requestObjects',
  ].map((feature) => [feature, { enabled: false }]),
);

/**
 * The parts of the library's document that this server supports. Its addresses come from the settings: the library
 * would use the Host header, which the client controls.
 */
function discoveryDocument(provider: Provider, issuer: string): object {
  return {
    issuer,
    token_endpoint: provider.urlFor('token'),
    jwks_uri: provider.urlFor('jwks'),
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
    scopes_supported: [SCOPE],
    response_types_supported: [],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [OWN_ALGORITHM],
  };
}

function describeResource({ settings, keys }: ProviderParts, resource: string): object {
  if (resource !== settings.issuer) throw new errors.InvalidTarget();
  return {
    audience: settings.issuer,
    scope: SCOPE,
    accessTokenFormat: 'jwt',
    accessTokenTTL: settings.tokenSeconds,
    jwt: { sign: { alg: OWN_ALGORITHM, kid: keys[0]?.id } },
  };
}

/** No client id is longer or contains other characters. */
const CLIENT_ID_CHARACTERS_MAX = 64;
const CLIENT_ID = /^[\w-]+$/;

async function findClient(parts: ProviderParts, id: string): Promise<object | undefined> {
  if (id.length > CLIENT_ID_CHARACTERS_MAX) return undefined;
  const waitSeconds = parts.failures.waitSeconds(sourceOf(parts, id));
  if (waitSeconds > 0) throw later(TOO_MANY_REQUESTS, waitSeconds);
  const client = CLIENT_ID.test(id) ? await available(async () => parts.catalog.clients.find(id)) : undefined;
  if (client === undefined || isExpired(client, parts.clock())) {
    parts.failures.fail(sourceOf(parts, id));
    return undefined;
  }
  return {
    client_id: id,
    // The library requires one, but this server compares secrets itself.
    client_secret: 'kept as a digest',
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
    token_endpoint_auth_method: 'client_secret_post',
  };
}

async function isSecret(parts: ProviderParts, id: string, actual: string): Promise<boolean> {
  const isRight = await available(async () => parts.catalog.clients.matches(id, digestSecret(actual)));
  if (!isRight) parts.failures.fail(sourceOf(parts, id));
  return isRight;
}

/**
 * Failures are counted by address and client: counted by address only, one broken client would lock out all others
 * behind the same proxy; counted by client only, a stranger could lock it out.
 */
function sourceOf({ addressOf }: ProviderParts, clientId: string): string {
  const { ctx } = Provider;
  return `${ctx === undefined ? '' : addressOf(ctx.req)} ${clientId}`;
}

/** An unavailable catalog is not the client's fault, and needs no stack trace in the log. */
async function available<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const isOutage = error instanceof ServiceError && error.kind === 'ServiceUnavailable';
    throw isOutage ? later(UNAVAILABLE, error.retryAfterSeconds ?? 1) : error;
  }
}

const TOO_MANY_REQUESTS = { status: 429, error: 'too_many_requests', description: 'too many failed attempts' };
const UNAVAILABLE = {
  status: 503,
  error: 'temporarily_unavailable',
  description: 'clients cannot be looked up at the moment',
};

function later({ status, error, description }: typeof UNAVAILABLE, waitSeconds: number): Error {
  Provider.ctx?.set('retry-after', String(waitSeconds));
  const refusal = new errors.CustomOIDCProviderError(error, description);
  refusal.statusCode = status;
  return refusal;
}
