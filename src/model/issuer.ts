import type { Grant } from './caller.ts';

/** An identity provider whose access tokens are believed, and what their claims permit. */
export interface IssuerSettings {
  /** Exactly as tokens spell it in `iss`. */
  readonly issuer: string;
  readonly audience: string;
  readonly algorithms: readonly string[];
  /** Where the keys are. Without it the issuer's discovery document says so. */
  readonly keySetUrl?: string;
  readonly subjectClaim: string;
  readonly grants: readonly ClaimGrant[];
}

/** Gives `grant` when the claim equals `value`, has it as an element, or as a word of a space-separated text. */
export interface ClaimGrant {
  readonly claim: string;
  readonly value: string;
  readonly grant: Grant;
}

/** Signatures that a holder of the public key cannot make: neither `none` nor any HMAC. */
export const SIGNATURE_ALGORITHMS: readonly string[] = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
