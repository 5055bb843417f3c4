import { decodeJwt, jwtVerify } from 'jose';
import type { CryptoKey, JWSHeaderParameters, JWTVerifyResult } from 'jose';
import { LRUCache } from 'lru-cache';
import { hash } from 'node:crypto';
import { findSubject, grantsOfClaims, tokenRefusal, toRefusal } from './claims.ts';
import { KeySet } from './key-set.ts';
import type { Grant, IssuerSettings } from '../../model/access.ts';
import type { OwnKeys } from '../keys/signing-keys.ts';
import type { AuthSettings } from '../settings.ts';
import { OWN_ALGORITHM } from '../keys/signing-keys.ts';

/** The contents of a good token: never the token itself. */
export interface VerifiedToken {
  readonly callerId: string;
  readonly grants: readonly Grant[];
  readonly expiresAt: number;
  /** For one of our own: valid only while the catalog has both. */
  readonly own?: OwnToken;
}

export interface OwnToken {
  readonly clientId: string;
  readonly keyId: string;
}

interface TrustedIssuer {
  readonly settings: IssuerSettings;
  readonly keySet: { find(header: JWSHeaderParameters): Promise<CryptoKey>; close(): void };
  readonly isOwn: boolean;
}

/** Our own token endpoint. */
export interface OwnIssuer {
  readonly issuer: string;
  readonly keys: OwnKeys;
}

/** Verifies access tokens of the configured issuers and of our own. No address in a token is ever fetched. */
export class TokenVerifier {
  readonly #settings: AuthSettings;
  readonly #clock: () => number;
  readonly #issuers: ReadonlyMap<string, TrustedIssuer>;
  readonly #verified = new VerifiedTokens();

  constructor(settings: AuthSettings, clock: () => number, own?: OwnIssuer) {
    this.#settings = settings;
    this.#clock = clock;
    const trusted: TrustedIssuer[] = settings.issuers.map((issuer) => ({
      settings: issuer,
      keySet: new KeySet(issuer, settings, clock),
      isOwn: false,
    }));
    if (own !== undefined) trusted.push(toTrusted(own));
    this.#issuers = new Map(trusted.map((each) => [each.settings.issuer, each]));
  }

  async verify(token: string): Promise<VerifiedToken> {
    if (Buffer.byteLength(token) > this.#settings.tokenBytesMax) throw tokenRefusal('it is too long');
    const digest = hash('sha256', token, 'base64');
    const known = this.#verified.find(digest, this.#clock());
    if (known !== undefined) return known;
    const verified = await this.#check(token);
    this.#verified.keep(digest, verified, this.#clock());
    return verified;
  }

  close(): void {
    for (const { keySet } of this.#issuers.values()) keySet.close();
  }

  async #check(token: string): Promise<VerifiedToken> {
    try {
      const issuer = this.#chooseIssuer(token);
      return toVerifiedToken(await this.#readClaims(token, issuer), issuer);
    } catch (error) {
      throw toRefusal(error);
    }
  }

  /** The claim is not yet verified: it only picks one of the issuers that the settings name. */
  #chooseIssuer(token: string): TrustedIssuer {
    const { iss } = decodeJwt(token);
    const issuer = typeof iss === 'string' ? this.#issuers.get(iss) : undefined;
    if (issuer === undefined) throw tokenRefusal('its issuer is not trusted here');
    return issuer;
  }

  async #readClaims(token: string, { settings, keySet, isOwn }: TrustedIssuer): Promise<JWTVerifyResult> {
    const now = this.#clock();
    // Of the header only `alg` and `kid` are read: `jwk`, `jku`, `x5c` and `x5u` would let the token bring its own key.
    const result = await jwtVerify(token, (header) => keySet.find(header), {
      issuer: settings.issuer,
      audience: settings.audience,
      algorithms: [...settings.algorithms],
      requiredClaims: ['exp'],
      clockTolerance: this.#settings.clockSkewSeconds,
      currentDate: new Date(now),
      // RFC 9068, section 2.1. Other issuers may be older than that.
      ...(isOwn ? { typ: 'at+jwt' } : {}),
    });
    const { iat } = result.payload;
    const latestSeconds = now / 1000 + this.#settings.clockSkewSeconds;
    if (iat !== undefined && iat > latestSeconds) throw tokenRefusal('it is not valid yet');
    return result;
  }
}

/** The issuer is also the audience: the same server signs and verifies. */
function toTrusted({ issuer, keys }: OwnIssuer): TrustedIssuer {
  const settings = { issuer, audience: issuer, algorithms: [OWN_ALGORITHM], subjectClaim: 'sub', grants: [] };
  return { settings, keySet: keys, isOwn: true };
}

function toVerifiedToken(result: JWTVerifyResult, { settings, isOwn }: TrustedIssuer): VerifiedToken {
  const { payload: claims, protectedHeader } = result;
  const subject = findSubject(claims, settings.subjectClaim);
  if (subject === undefined) throw tokenRefusal('it names no usable subject');
  const expiresAt = (claims.exp ?? 0) * 1000;
  if (isOwn) {
    // The grants of a client are looked up with every request.
    const own = { clientId: subject, keyId: protectedHeader.kid ?? '' };
    return { callerId: `client:${subject}`, grants: [], expiresAt, own };
  }
  // An issuer's address holds no "#", so two different pairs never give one text.
  const callerId = `token:${settings.issuer}#${subject}`;
  return { callerId, grants: grantsOfClaims(claims, settings.grants), expiresAt };
}

const KEPT_MILLISECONDS_MAX = 60_000;
const TOKENS_MAX = 10_000;

/**
 * Verified tokens by digest, so that the next request with the same one costs no signature. For a minute at most: a key
 * that its issuer withdraws soon counts for nothing.
 */
export class VerifiedTokens {
  readonly #entries = new LRUCache<string, { readonly verified: VerifiedToken; readonly keptUntil: number }>({
    max: TOKENS_MAX,
  });

  find(digest: string, now: number): VerifiedToken | undefined {
    const entry = this.#entries.get(digest);
    return entry !== undefined && now < entry.keptUntil ? entry.verified : undefined;
  }

  keep(digest: string, verified: VerifiedToken, now: number): void {
    this.#entries.set(digest, { verified, keptUntil: Math.min(verified.expiresAt, now + KEPT_MILLISECONDS_MAX) });
  }
}
