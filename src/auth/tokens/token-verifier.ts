import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose';
import type { JWTVerifyResult } from 'jose';
import { LRUCache } from 'lru-cache';
import { hash } from 'node:crypto';
import { findSubject, grantsOfClaims, tokenRefusal, toTokenRefusal } from './claims.ts';
import { KeySet } from './key-set.ts';
import type { FindKey, KeySetFetch } from './key-set.ts';
import type { Grant, IssuerSettings } from '../../model/access.ts';
import { OWN_ALGORITHM, oncePerKeys, toPublicJwk } from '../keys/signing-keys.ts';
import type { SigningKeyText } from '../keys/signing-keys.ts';
import type { AuthSettings } from '../settings.ts';

/** The contents of a valid token, never the token itself. */
interface VerifiedToken {
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
  readonly findKey: FindKey;
  readonly isOwn: boolean;
}

const KEPT_MILLISECONDS_MAX = 60_000;
const TOKENS_MAX = 10_000;

/** Verifies access tokens of the configured issuers and of our own. Addresses in a token are never fetched. */
export class TokenVerifier {
  readonly #settings: AuthSettings;
  readonly #clock: () => number;
  readonly #keySets: readonly KeySet[];
  readonly #issuers: ReadonlyMap<string, TrustedIssuer>;
  /**
   * By digest, so that the next request with the same token needs no signature check. For a minute at most, so that a
   * key withdrawn by its issuer soon stops working.
   */
  readonly #verified = new LRUCache<string, { readonly token: VerifiedToken; readonly keptUntil: number }>({
    max: TOKENS_MAX,
  });

  constructor(
    settings: AuthSettings,
    clock: () => number,
    listOwnKeys: ListOwnKeys = async () => [],
    onFetch: (fetch: KeySetFetch) => void = () => {},
  ) {
    this.#settings = settings;
    this.#clock = clock;
    this.#keySets = settings.issuers.map((issuer) => new KeySet(issuer, settings, clock, onFetch));
    const trusted: TrustedIssuer[] = this.#keySets.map(({ issuer, find }) => ({
      settings: issuer,
      findKey: find,
      isOwn: false,
    }));
    if (settings.ownIssuer !== undefined) trusted.push(trustOurselves(settings.ownIssuer, listOwnKeys));
    this.#issuers = new Map(trusted.map((each) => [each.settings.issuer, each]));
  }

  async verify(token: string): Promise<VerifiedToken> {
    if (Buffer.byteLength(token) > this.#settings.tokenBytesMax) throw tokenRefusal('it is too long');
    const digest = hash('sha256', token, 'base64');
    const known = this.#verified.get(digest);
    if (known !== undefined && this.#clock() < known.keptUntil) return known.token;
    const verified = await this.#check(token);
    const keptUntil = Math.min(verified.expiresAt, this.#clock() + KEPT_MILLISECONDS_MAX);
    this.#verified.set(digest, { token: verified, keptUntil });
    return verified;
  }

  close(): void {
    for (const keySet of this.#keySets) keySet.close();
  }

  async #check(token: string): Promise<VerifiedToken> {
    try {
      const issuer = this.#chooseIssuer(token);
      return toVerifiedToken(await this.#readClaims(token, issuer), issuer);
    } catch (error) {
      throw toTokenRefusal(error);
    }
  }

  /** The claim is not yet verified: it only selects one of the configured issuers. */
  #chooseIssuer(token: string): TrustedIssuer {
    const { iss } = decodeJwt(token);
    const issuer = typeof iss === 'string' ? this.#issuers.get(iss) : undefined;
    if (issuer === undefined) throw tokenRefusal('its issuer is not trusted here');
    return issuer;
  }

  async #readClaims(token: string, { settings, findKey, isOwn }: TrustedIssuer): Promise<JWTVerifyResult> {
    const now = this.#clock();
    // Of the header only `alg` and `kid` are read: `jwk`, `jku`, `x5c` and `x5u` would let the token bring its own key.
    const result = await jwtVerify(token, findKey, {
      issuer: settings.issuer,
      audience: settings.audience,
      algorithms: [...settings.algorithms],
      requiredClaims: ['exp'],
      clockTolerance: this.#settings.clockSkewSeconds,
      currentDate: new Date(now),
      // RFC 9068, section 2.1. Other issuers may predate it.
      ...(isOwn ? { typ: 'at+jwt' } : {}),
    });
    const { iat } = result.payload;
    const latestSeconds = now / 1000 + this.#settings.clockSkewSeconds;
    if (iat !== undefined && iat > latestSeconds) throw tokenRefusal('it is not valid yet');
    return result;
  }
}

type ListOwnKeys = () => Promise<readonly SigningKeyText[]>;

/** Our own token endpoint. Its issuer is also the audience: the same server signs and verifies. */
function trustOurselves(issuer: string, listKeys: ListOwnKeys): TrustedIssuer {
  const settings = { issuer, audience: issuer, algorithms: [OWN_ALGORITHM], subjectClaim: 'sub', grants: [] };
  const toKeySet = oncePerKeys((keys) => createLocalJWKSet({ keys: keys.map(toPublicJwk) }));
  return { settings, findKey: async (header) => toKeySet(await listKeys())(header), isOwn: true };
}

function toVerifiedToken(result: JWTVerifyResult, { settings, isOwn }: TrustedIssuer): VerifiedToken {
  const { payload: claims, protectedHeader } = result;
  const subject = findSubject(claims, settings.subjectClaim);
  if (subject === undefined) throw tokenRefusal('it has no usable subject');
  const expiresAt = (claims.exp ?? 0) * 1000;
  if (isOwn) {
    // The grants of a client are looked up for every request.
    const own = { clientId: subject, keyId: protectedHeader.kid ?? '' };
    return { callerId: `client:${subject}`, grants: [], expiresAt, own };
  }
  // An issuer's address contains no "#", so two different pairs never produce the same text.
  const callerId = `token:${settings.issuer}#${subject}`;
  return { callerId, grants: grantsOfClaims(claims, settings.grants), expiresAt };
}
