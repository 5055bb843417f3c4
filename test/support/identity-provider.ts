import { exportJWK, generateKeyPair } from 'jose';
import type { CryptoKey, JWK } from 'jose';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { Provider } from 'oidc-provider';
import type { Context } from 'oidc-provider';

export interface TokenOptions {
  /** Of `tables.read` and `tables.write`. */
  readonly scope?: string;
  /** Laid over what the provider would say: `sub`, `groups`, `exp`, `aud`, anything. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** A real authorization server on a loopback port. */
export interface IdentityProvider {
  readonly issuer: string;
  readonly audience: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** An RS256 access token for the audience, by the client credentials grant. */
  token(options?: TokenOptions): Promise<string>;
  /** How often an address was asked for, such as `/jwks`. */
  requestsOf(path: string): number;
  /** The pair that signs now: for tokens that the provider itself would never make. */
  signingKeys(): SigningKeys;
  /** Signs with a new pair from now on; the old one is published no more. */
  rotate(): Promise<void>;
  /** While away, every connection is cut. */
  setAway(away: boolean): void;
  close(): Promise<void>;
}

export interface SigningKeys {
  readonly kid: string;
  readonly publicKey: CryptoKey;
  readonly privateKey: CryptoKey;
}

const AUDIENCE = 'https://tables.example.test';
const CLIENT = { id: 'loader', secret: 'a-secret-for-tests-only' };
const TOKEN_SECONDS = 600;
const CLAIMS_HEADER = 'x-test-claims';

export async function startIdentityProvider(): Promise<IdentityProvider> {
  let keys = await makeSigningKeys();
  let answer: RequestListener | undefined;
  let isAway = false;
  const counts = new Map<string, number>();

  const server = createServer((request, response) => {
    const path = request.url ?? '';
    counts.set(path, (counts.get(path) ?? 0) + 1);
    answer?.(request, response);
  });
  server.on('connection', (socket) => {
    if (isAway) socket.destroy();
  });
  const issuer = await listen(server);
  answer = await makeAnswer(issuer, keys);

  return {
    issuer,
    audience: AUDIENCE,
    clientId: CLIENT.id,
    clientSecret: CLIENT.secret,
    token: (options = {}) => requestToken(issuer, options),
    requestsOf: (path) => counts.get(path) ?? 0,
    signingKeys: () => keys,
    rotate: async () => {
      keys = await makeSigningKeys();
      answer = await makeAnswer(issuer, keys);
    },
    setAway: (away) => {
      isAway = away;
      if (away) server.closeAllConnections();
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

let keysMade = 0;

async function makeSigningKeys(): Promise<SigningKeys> {
  const pair = await generateKeyPair('RS256', { extractable: true });
  keysMade += 1;
  return { kid: `key-${keysMade}`, ...pair };
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return `http://127.0.0.1:${address.port}`;
}

async function makeAnswer(issuer: string, keys: SigningKeys): Promise<RequestListener> {
  const jwk: JWK = { ...(await exportJWK(keys.privateKey)), kid: keys.kid, use: 'sig', alg: 'RS256' };
  const provider = new Provider(issuer, {
    jwks: { keys: [jwk] },
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        grant_types: ['client_credentials'],
        token_endpoint_auth_method: 'client_secret_post',
        redirect_uris: [],
        response_types: [],
      },
    ],
    ttl: { ClientCredentials: TOKEN_SECONDS },
    cookies: { keys: ['a-cookie-key-for-tests-only'] },
    scopes: ['tables.read', 'tables.write'],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        getResourceServerInfo: () => ({
          audience: AUDIENCE,
          scope: 'tables.read tables.write',
          accessTokenFormat: 'jwt',
          accessTokenTTL: TOKEN_SECONDS,
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    formats: { customizers: { jwt: layClaimsOver } },
  });
  const answer = provider.callback();
  return (request, response) => void answer(request, response);
}

interface StructuredToken {
  header: Record<string, unknown> | undefined;
  payload: Record<string, unknown>;
}

function layClaimsOver(context: Context, _token: unknown, jwt: StructuredToken): void {
  const sent = context.get(CLAIMS_HEADER);
  if (sent === '') return;
  const claims: unknown = JSON.parse(sent);
  assert.ok(typeof claims === 'object' && claims !== null);
  for (const [claim, value] of Object.entries(claims)) jwt.payload[claim] = value;
}

async function requestToken(issuer: string, { scope, claims = {} }: TokenOptions): Promise<string> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: CLIENT.id,
    client_secret: CLIENT.secret,
  });
  if (scope !== undefined) form.set('scope', scope);
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { [CLAIMS_HEADER]: JSON.stringify(claims) },
    body: form,
  });
  const reply: unknown = await response.json();
  assert.ok(typeof reply === 'object' && reply !== null && 'access_token' in reply, JSON.stringify(reply));
  assert.ok(typeof reply.access_token === 'string');
  return reply.access_token;
}
