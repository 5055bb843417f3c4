import type { JWTPayload } from 'jose';
import type { Grant } from '../model/caller.ts';
import type { ClaimGrant } from '../model/issuer.ts';

/** OpenID Connect Core 1.0, section 2, allows 255 characters. */
const SUBJECT_CHARACTERS_MAX = 255;

/** The subject, when it can stand in logs and records: text without control, invisible or separator characters. */
export function findSubject(claims: JWTPayload, claim: string): string | undefined {
  const subject = ownClaim(claims, claim);
  if (typeof subject !== 'string' || subject.length === 0 || subject.length > SUBJECT_CHARACTERS_MAX) return undefined;
  return /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(subject) ? undefined : subject;
}

export function grantsOfClaims(claims: JWTPayload, rules: readonly ClaimGrant[]): readonly Grant[] {
  return rules.filter((rule) => hasValue(ownClaim(claims, rule.claim), rule.value)).map((rule) => rule.grant);
}

function hasValue(claim: unknown, value: string): boolean {
  if (typeof claim === 'string') return claim === value || claim.split(' ').includes(value);
  return Array.isArray(claim) && claim.includes(value);
}

/** A rule may name anything, `constructor` too. */
function ownClaim(claims: JWTPayload, claim: string): unknown {
  return Object.hasOwn(claims, claim) ? claims[claim] : undefined;
}
