import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, Provider } from 'oidc-provider';
import { FailedAttempts } from './failed-attempts.ts';
import { isSameKeys } from '../keys/signing-keys.ts';
import type { SigningKeyText } from '../keys/signing-keys.ts';
import type { ClientLookup, TokenEndpointSettings } from './token-provider.ts';

/** As the library knows them. */
const PATHS = {
  discovery: '/.well-known/openid-configuration',
  keys: '/jwks',
  token: '/token',
} as const;

export type { ClientLookup, ClientRecord, TokenEndpointSettings } from './token-provider.ts';

export type TokenRoute = keyof typeof PATHS;

/** What the log may know of an answer. */
export interface TokenOutcome {
  /** Only one that has proved itself. */
  readonly client: string | undefined;
  /** What failed on our side; a refusal is none. */
  readonly failure: unknown;
}

export interface TokenEndpoint {
  /** Answers the request itself. The address that was asked for does not matter: the route is given. */
  answer(route: TokenRoute, request: IncomingMessage, response: ServerResponse): Promise<TokenOutcome>;
}

const WINDOW_SECONDS = 60;
const SOURCES_MAX = 10_000;

/**
 * An authorization server for machines: the client credentials grant and what clients need to find it. The protocol is
 * the library's; it is loaded with the first request, since most deployments never see one.
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
  let made: { readonly keys: readonly SigningKeyText[]; readonly answer: Promise<Answer> } | undefined;

  /** Keys are fixed when a provider is made, so that other keys make another one. */
  const findAnswer = async (): Promise<Answer> => {
    const keys = await lookup.signingKeys();
    if (made === undefined || !isSameKeys(made.keys, keys)) {
      const answer = import('./token-provider.ts').then(({ createProvider }) =>
        observe(createProvider({ settings, keys, lookup, failures, clock }), outcomes).callback(),
      );
      made = { keys, answer };
    }
    return made.answer;
  };

  return {
    async answer(route, request, response) {
      const answer = await findAnswer();
      Object.assign(request, { url: PATHS[route] });
      await answer(request, response);
      return outcomes.get(request) ?? { client: undefined, failure: undefined };
    },
  };
}

type Answer = ReturnType<Provider['callback']>;

function observe(provider: Provider, outcomes: WeakMap<IncomingMessage, TokenOutcome>): Provider {
  const note = (context: Context | undefined, failure: unknown): void => {
    if (context !== undefined) outcomes.set(context.req, { client: undefined, failure });
  };
  return provider
    .on('grant.success', ({ req, oidc }) => outcomes.set(req, { client: oidc?.client?.clientId, failure: undefined }))
    .on('server_error', (context, error) => note(context, error))
    .on('error', (error, context) => note(context, error));
}
