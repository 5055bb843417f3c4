import { decodeJwt, jwtVerify } from 'jose';
import type { CryptoKey, JWSHeaderParameters, JWTPayload, JWTVerifyResult } from 'jose';
import { hash } from 'node:crypto';
import { resolveTarget, grantsOfClaims, tokenRefusal, toRefusal } from './claims.ts';
import { KeySet } from './key-set.ts';
import type { IssuerSettings } from '../../model/access.ts';
import type { OwnKeys } from '../keys/signing-keys.ts';
import type { AuthSettings } from '../settings.ts';
import { OWN_ALGORITHM } from '../keys/signing-keys.ts';
import { VerifiedTokens } from './verified-tokens.ts';
import type { VerifiedToken } from './verified-tokens.ts';

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

/** Checks access tokens against the configured issuers and our own. Nothing that a token names is ever fetched. */
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

/** The address of the issuer is also the audience: the server that signs is the one that is asked. */
function toTrusted({ issuer, keys }: OwnIssuer): TrustedIssuer {
  const settings = { issuer, audience: issuer, algorithms: [OWN_ALGORITHM], subjectClaim: 'sub', grants: [] };
  return { settings, keySet: keys, isOwn: true };
}

function toVerifiedToken(result: JWTVerifyResult, { settings, isOwn }: TrustedIssuer): VerifiedToken {
  const { payload: claims, protectedHeader } = result;
  const subject = resolveTarget(claims, settings.subjectClaim);
  if (subject === undefined) throw tokenRefusal('it names no usable subject');
  if (isOwn) return toOwnToken(claims, subject, protectedHeader.kid ?? '');
  return {
    // An issuer's address holds no "#", so two different pairs never give one text.
    callerId: `token:${settings.issuer}#${subject}`,
    grants: grantsOfClaims(claims, settings.grants),
    expiresAt: (claims.exp ?? 0) * 1000,
  };
}

/** What a client may do is asked of the catalog with every request. */
function toOwnToken(claims: JWTPayload, clientId: string, keyId: string): VerifiedToken {
  return {
    callerId: `client:${clientId}`,
    grants: [],
    expiresAt: (claims.exp ?? 0) * 1000,
    own: { clientId, keyId },
  };
}
