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
  /** As clients see it, without a slash at the end. Also the audience of its tokens. */
  readonly issuer: string;
  readonly tokenSeconds: number;
  /** Wrong secrets that one address may give for one client in a minute. */
  readonly failuresPerMinuteMax: number;
}

interface ProviderParts {
  readonly settings: TokenEndpointSettings;
  /** Newest first: the first signs. */
  readonly keys: readonly SigningKeyText[];
  readonly catalog: CredentialCatalog;
  readonly failures: FailedAttempts;
  /** Where a request came from, behind trusted proxies too. */
  readonly addressOf: (request: IncomingMessage) => string;
  readonly clock: () => number;
}

/** The only scope, without effect: the rights of a client are its grants. */
const SCOPE = 'tables';

/** The library with everything off but the client credentials grant and signed tokens. */
export function createProvider(parts: ProviderParts): Provider {
  const { settings, keys } = parts;
  const provider = new Provider(settings.issuer, {
    // Tokens are signed, not stored: only clients are ever looked up.
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
    // No route that sets a cookie can be reached; without keys the library warns all the same.
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
 * Only what this server offers of the library's document. Its addresses come from the settings: the library would take
 * the host from the request, which its sender chooses.
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

/** No client has a longer id, or one with other characters. */
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
    // The library wants one; the comparison is ours.
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
 * Failures are counted by address and client: by address alone one broken client would lock out all others behind the
 * same proxy, by client alone a stranger could lock it out.
 */
function sourceOf({ addressOf }: ProviderParts, clientId: string): string {
  const { ctx } = Provider;
  return `${ctx === undefined ? '' : addressOf(ctx.req)} ${clientId}`;
}

/** An unavailable catalog is not the client's fault, and needs no stack in the log. */
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
