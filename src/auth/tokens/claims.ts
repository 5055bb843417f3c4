import { errors } from 'jose';
import { ServiceError } from '../../errors/service-error.ts';
import type { JWTPayload } from 'jose';
import type { Grant, ClaimGrant } from '../../model/access.ts';
import { INVISIBLE } from '../../model/identifier.ts';

/** Deliberately general: enough for the holder of a token to fix it, without its contents. */
export function tokenRefusal(fault: string, cause?: unknown): ServiceError {
  return new ServiceError('Unauthenticated', `The access token is not valid: ${fault}.`, { cause });
}

/**
 * Any error other than our own refusals means that the token is invalid. The library's errors contain the claims, which
 * must not be logged, so only their names and messages are kept.
 */
export function toTokenRefusal(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return tokenRefusal(faultOf(error), error instanceof Error ? `${error.name}: ${error.message}` : undefined);
}

const CLAIM_FAULTS: ReadonlyMap<string, string> = new Map([
  ['iss', 'its issuer is not trusted here'],
  ['aud', 'it is for a different audience'],
  ['exp', 'it has no expiry'],
  ['nbf', 'it is not valid yet'],
]);

function faultOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'it has expired';
  if (error instanceof errors.JWTClaimValidationFailed) return CLAIM_FAULTS.get(error.claim) ?? UNREADABLE;
  const isMalformed = error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid;
  return isMalformed ? UNREADABLE : 'its signature cannot be verified';
}

const UNREADABLE = 'it cannot be read';

/** OpenID Connect Core 1.0, section 2, allows 255 characters. */
const SUBJECT_CHARACTERS_MAX = 255;

/** The subject, if logs and records can show it: text without control, invisible or separator characters. */
export function findSubject(claims: JWTPayload, claim: string): string | undefined {
  const subject = ownClaim(claims, claim);
  if (typeof subject !== 'string' || subject.length === 0 || subject.length > SUBJECT_CHARACTERS_MAX) return undefined;
  return INVISIBLE.test(subject) ? undefined : subject;
}

export function grantsOfClaims(claims: JWTPayload, rules: readonly ClaimGrant[]): readonly Grant[] {
  return rules.filter((rule) => hasValue(ownClaim(claims, rule.claim), rule.value)).map((rule) => rule.grant);
}

function hasValue(claim: unknown, value: string): boolean {
  if (typeof claim === 'string') return claim === value || claim.split(' ').includes(value);
  return Array.isArray(claim) && claim.includes(value);
}

/** Safe for rules with any name, such as `constructor`. */
function ownClaim(claims: JWTPayload, claim: string): unknown {
  return Object.hasOwn(claims, claim) ? claims[claim] : undefined;
}
