import { ServiceError } from '../errors/service-error.ts';
import type { Caller, Grant, Quota } from '../model/access.ts';
import { digestSecret, isApiKey, isExpired, looksLikeToken } from './keys/secrets.ts';
import type { SigningKeyText } from './keys/signing-keys.ts';
import { checkIssuerSettings } from './settings.ts';
import type { AuthSettings } from './settings.ts';
import { tokenRefusal } from './tokens/claims.ts';
import type { KeySetFetch } from './tokens/key-set.ts';
import { TokenVerifier } from './tokens/token-verifier.ts';
import type { OwnToken } from './tokens/token-verifier.ts';

/** As sent. `undefined` means that the header is missing; an empty text is an invalid credential. */
export interface Credentials {
  readonly apiKey: string | undefined;
  /** What follows `Bearer`: an access token or, for clients that cannot set other headers, an API key. */
  readonly bearer: string | undefined;
}

/** The catalog's credentials, without revoked ones. Times are in milliseconds since 1970. */
export interface CredentialCatalog {
  readonly keys: { findByDigest(digest: string): Promise<KeyRecord | undefined> };
  /** Grants that administrators gave to token holders, by caller id. */
  readonly grants: { of(principal: string): Promise<readonly Grant[]> };
  /** The clients of our own token endpoint. */
  readonly clients: {
    find(id: string): Promise<KeyRecord | undefined>;
    matches(id: string, digest: string): Promise<boolean>;
  };
  readonly signingKeys: { list(): Promise<readonly SigningKeyText[]> };
}

export interface KeyRecord {
  readonly id: string;
  readonly name: string;
  readonly expiresAt?: number;
  readonly grants: readonly Grant[];
  readonly quota?: Quota;
}

export type Authenticator = ReturnType<typeof createAuthenticator>;

/** `clock` returns milliseconds since 1970. Throws if an issuer's settings are not safe. */
export function createAuthenticator(
  settings: AuthSettings,
  catalog: CredentialCatalog,
  clock: () => number,
  onKeySetFetch?: (fetch: KeySetFetch) => void,
) {
  requireUsableIssuers(settings);
  const verifier = new TokenVerifier(settings, clock, async () => catalog.signingKeys.list(), onKeySetFetch);

  /** Refuses with `Unauthenticated`, or with `ServiceUnavailable` if the keys of a token's issuer are unavailable. */
  const authenticate = async ({ apiKey, bearer }: Credentials): Promise<Caller> => {
    const caller = apiKey === undefined ? undefined : callerOfKey(await findKey(apiKey));
    if (caller !== undefined && (bearer === undefined || bearer === apiKey)) return caller;
    if (bearer !== undefined) return requireSame(await callerOfBearer(bearer), caller);
    if (settings.required) throw missingCredential();
    return ANONYMOUS;
  };

  const callerOfBearer = async (bearer: string): Promise<Caller> => {
    if (isApiKey(bearer)) return callerOfKey(await findKey(bearer));
    // A key that an operator chose, such as `adminKey`, can have any form except that of a token.
    const chosen = looksLikeToken(bearer) ? undefined : await findKey(bearer);
    return chosen === undefined ? callerOfToken(bearer) : callerOfKey(chosen);
  };

  const findKey = async (key: string): Promise<KeyRecord | undefined> => {
    const isUsable = key !== '' && Buffer.byteLength(key) <= settings.tokenBytesMax;
    return isUsable ? catalog.keys.findByDigest(digestSecret(key)) : undefined;
  };

  const callerOfKey = (record: KeyRecord | undefined): Caller => {
    if (record === undefined) throw new ServiceError('Unauthenticated', 'The API key is not valid.');
    if (isExpired(record, clock())) {
      throw new ServiceError('Unauthenticated', 'The API key is not valid: it has expired.');
    }
    return { id: `key:${record.id}`, kind: 'key', ...rightsOf(record) };
  };

  const callerOfToken = async (token: string): Promise<Caller> => {
    const { callerId, grants, own } = await verifier.verify(token);
    if (own !== undefined) return callerOfClient(callerId, own);
    // Looked up for every request, so that revoking a grant takes effect at once.
    const given = await catalog.grants.of(callerId);
    return { id: callerId, kind: 'token', grants: [...grants, ...given] };
  };

  /** Looked up for every request, so that revoking a client or deleting a key takes effect at once. */
  const callerOfClient = async (callerId: string, { clientId, keyId }: OwnToken): Promise<Caller> => {
    const client = await catalog.clients.find(clientId);
    if (client === undefined || isExpired(client, clock())) throw tokenRefusal('its client is no longer valid');
    const keys = await catalog.signingKeys.list();
    if (!keys.some(({ id }) => id === keyId)) throw tokenRefusal('its signature cannot be verified');
    return { id: callerId, kind: 'token', ...rightsOf(client) };
  };

  return { authenticate, close: (): void => verifier.close() };
}

function rightsOf({ grants, quota }: KeyRecord): Pick<Caller, 'grants' | 'quota'> {
  return quota === undefined ? { grants } : { grants, quota };
}

/** The caller of a request without a credential, if none is required. */
const ANONYMOUS: Caller = {
  id: 'anonymous',
  kind: 'anonymous',
  grants: [{ role: 'admin', database: undefined, path: [] }],
};

function requireUsableIssuers({ issuers, ownIssuer }: AuthSettings): void {
  const faults = issuers.flatMap(checkIssuerSettings);
  const names = new Set(issuers.map(({ issuer }) => issuer));
  if (names.size < issuers.length || (ownIssuer !== undefined && names.has(ownIssuer)))
    faults.push('Two issuers have the same address.');
  if (faults.length > 0) throw new Error(`The issuers of access tokens are not valid. ${faults.join(' ')}`);
}

/** If there are two credentials, they must be of one caller: choosing either would be ambiguous. */
function requireSame(caller: Caller, other: Caller | undefined): Caller {
  if (other === undefined || other.id === caller.id) return caller;
  throw new ServiceError(
    'Unauthenticated',
    'The API key and the bearer token of the request belong to different callers.',
    { hint: 'Send only one of them.' },
  );
}

function missingCredential(): ServiceError {
  return new ServiceError('Unauthenticated', 'The request has no credential.', {
    hint: 'Send an API key as "x-api-key" or an access token as "Authorization: Bearer".',
  });
}
