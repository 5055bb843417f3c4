import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, Provider } from 'oidc-provider';
import type { CredentialCatalog } from '../authenticator.ts';
import { FailedAttempts } from './failed-attempts.ts';
import { oncePerKeys } from '../keys/signing-keys.ts';
import type { TokenEndpointSettings } from './token-provider.ts';

/** The part of a reply that may be logged. */
interface TokenOutcome {
  /** Set only if authenticated. */
  readonly client?: string | undefined;
  /** A failure of the server, not a refusal. */
  readonly failure?: unknown;
}

interface TokenRequest {
  readonly path: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The address of the client. */
  readonly address: string;
}

export type TokenEndpoint = ReturnType<typeof createTokenEndpoint>;

/**
 * An authorization server for machines: the client credentials grant, its discovery document and its keys. The library
 * is loaded with the first request, because most deployments never get one.
 */
export function createTokenEndpoint(settings: TokenEndpointSettings, catalog: CredentialCatalog, clock: () => number) {
  const outcomes = new WeakMap<IncomingMessage, TokenOutcome>();
  const addresses = new WeakMap<IncomingMessage, string>();
  const addressOf = (request: IncomingMessage): string => addresses.get(request) ?? '';
  const failures = new FailedAttempts(settings.failuresPerMinuteMax);
  /** The keys of a provider are fixed, so new keys need a new provider. */
  const toHandler = oncePerKeys(async (keys) => {
    const { createProvider } = await import('./token-provider.ts');
    return observe(createProvider({ settings, keys, catalog, failures, addressOf, clock }), outcomes).callback();
  });
  return {
    /** Sends the reply itself. The path in the library is given, so the URL of the request does not matter. */
    async answer({ path, request, response, address }: TokenRequest): Promise<TokenOutcome> {
      addresses.set(request, address);
      const handle = await toHandler(await catalog.signingKeys.list());
      Object.assign(request, { url: path });
      await handle(request, response);
      return outcomes.get(request) ?? {};
    },
  };
}

function observe(provider: Provider, outcomes: WeakMap<IncomingMessage, TokenOutcome>): Provider {
  const fail = (context: Context | undefined, failure: unknown): void => {
    if (context !== undefined) outcomes.set(context.req, { failure });
  };
  return provider
    .on('grant.success', ({ req, oidc }) => outcomes.set(req, { client: oidc?.client?.clientId }))
    .on('server_error', (context, error) => fail(context, error))
    .on('error', (error, context) => fail(context, error));
}
