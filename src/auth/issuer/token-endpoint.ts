import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, Provider } from 'oidc-provider';
import { FailedAttempts } from './failed-attempts.ts';
import { isSameKeys } from '../keys/signing-keys.ts';
import type { SigningKeyText } from '../keys/signing-keys.ts';
import type { ClientLookup, TokenEndpointSettings } from './token-provider.ts';

/** In the library. */
const PATHS = {
  discovery: '/.well-known/openid-configuration',
  keys: '/jwks',
  token: '/token',
} as const;

export type TokenRoute = keyof typeof PATHS;

/** The part of a reply that may be logged. */
export interface TokenOutcome {
  /** Only an authenticated one. */
  readonly client: string | undefined;
  /** A failure of the server; a refusal is none. */
  readonly failure: unknown;
}

export interface TokenEndpoint {
  /** Sends the reply itself. The URL of the request does not matter: the route is given. */
  answer(route: TokenRoute, request: IncomingMessage, response: ServerResponse): Promise<TokenOutcome>;
}

const WINDOW_SECONDS = 60;
const SOURCES_MAX = 10_000;

/**
 * An authorization server for machines: the client credentials grant, its discovery document and its keys. The library
 * is loaded with the first request, since most deployments never get one.
 */
export function createTokenEndpoint(
  settings: TokenEndpointSettings,
  lookup: ClientLookup,
  clock: () => number,
): TokenEndpoint {
  const outcomes = new WeakMap<IncomingMessage, TokenOutcome>();
  const failures = new FailedAttempts({
    failuresMax: settings.failuresPerMinuteMax,
    windowSeconds: WINDOW_SECONDS,
    sourcesMax: SOURCES_MAX,
    clock,
  });
  let current: { readonly keys: readonly SigningKeyText[]; readonly handler: Promise<Handler> } | undefined;

  /** The keys of a provider are fixed, so other keys need another provider. */
  const findHandler = async (): Promise<Handler> => {
    const keys = await lookup.signingKeys();
    if (current === undefined || !isSameKeys(current.keys, keys)) {
      const handler = import('./token-provider.ts').then(({ createProvider }) =>
        observe(createProvider({ settings, keys, lookup, failures, clock }), outcomes).callback(),
      );
      current = { keys, handler };
    }
    return current.handler;
  };

  return {
    async answer(route, request, response) {
      const handle = await findHandler();
      Object.assign(request, { url: PATHS[route] });
      await handle(request, response);
      return outcomes.get(request) ?? { client: undefined, failure: undefined };
    },
  };
}

type Handler = ReturnType<Provider['callback']>;

function observe(provider: Provider, outcomes: WeakMap<IncomingMessage, TokenOutcome>): Provider {
  const fail = (context: Context | undefined, failure: unknown): void => {
    if (context !== undefined) outcomes.set(context.req, { client: undefined, failure });
  };
  return provider
    .on('grant.success', ({ req, oidc }) => outcomes.set(req, { client: oidc?.client?.clientId, failure: undefined }))
    .on('server_error', (context, error) => fail(context, error))
    .on('error', (error, context) => fail(context, error));
}
