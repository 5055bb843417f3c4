import { SignJWT } from 'jose';
import type { JWTHeaderParameters, JWTPayload } from 'jose';
import assert from 'node:assert/strict';
import type { CredentialCatalog, KeyRecord } from '../../src/auth/authenticator.ts';
import type { AuthSettings } from '../../src/auth/settings.ts';
import type { IssuerSettings } from '../../src/model/access.ts';
import { ServiceError } from '../../src/errors/service-error.ts';
import type { Grant } from '../../src/model/access.ts';
import type { IdentityProvider } from '../support/identity-provider.ts';

export const COOLDOWN_SECONDS = 30;
export const KEY_SET_SECONDS = 600;
export const SKEW_SECONDS = 5;
export const TOKEN_BYTES_MAX = 8192;

export function settingsFor(issuers: readonly IssuerSettings[], changes: Partial<AuthSettings> = {}): AuthSettings {
  return {
    required: true,
    issuers,
    tokenBytesMax: TOKEN_BYTES_MAX,
    clockSkewSeconds: SKEW_SECONDS,
    keySetCooldownSeconds: COOLDOWN_SECONDS,
    keySetSeconds: KEY_SET_SECONDS,
    fetchSeconds: 5,
    ...changes,
  };
}

export function issuerOf(
  { issuer, audience }: { readonly issuer: string; readonly audience: string },
  changes: Partial<IssuerSettings> = {},
): IssuerSettings {
  return { issuer, audience, algorithms: ['RS256'], subjectClaim: 'sub', grants: [], ...changes };
}

/** A catalog of credentials in memory, by digest and by caller id. */
export function lookupOf(
  keys: Readonly<Record<string, KeyRecord>> = {},
  grants: Readonly<Record<string, readonly Grant[]>> = {},
): CredentialCatalog {
  return {
    keys: { findByDigest: (digest) => Promise.resolve(keys[digest]) },
    grants: { of: (principal) => Promise.resolve(grants[principal] ?? []) },
    clients: { find: () => Promise.resolve(undefined), matches: () => Promise.resolve(false) },
    signingKeys: { list: () => Promise.resolve([]) },
  };
}

/** A clock that moves only when told. It starts at the real time, because the provider stamps its tokens by that. */
export function makeClock(): { now: () => number; advance: (seconds: number) => void } {
  let milliseconds = Date.now();
  return {
    now: () => milliseconds,
    advance: (seconds) => {
      milliseconds += seconds * 1000;
    },
  };
}

/** Claims that are right in every way. */
export function goodClaims({ issuer, audience }: IdentityProvider, now: number): JWTPayload {
  const seconds = Math.floor(now / 1000);
  return { iss: issuer, aud: audience, sub: 'ada', iat: seconds, exp: seconds + 300 };
}

/** Signs with the provider's own key whatever the provider itself would not. */
export async function forge(
  provider: IdentityProvider,
  claims: JWTPayload,
  header: Partial<JWTHeaderParameters> = {},
): Promise<string> {
  const { kid, privateKey } = provider.signingKeys();
  return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid, ...header }).sign(privateKey);
}

export async function refusalOf(outcome: Promise<unknown>): Promise<ServiceError> {
  try {
    await outcome;
  } catch (error) {
    assert.ok(error instanceof ServiceError, `not a refusal of ours: ${String(error)}`);
    return error;
  }
  throw new assert.AssertionError({ message: 'It was accepted.' });
}

export async function assertRefused(outcome: Promise<unknown>, message: string): Promise<void> {
  const { kind, message: actual } = await refusalOf(outcome);
  assert.deepEqual({ kind, message: actual }, { kind: 'Unauthenticated', message });
}
