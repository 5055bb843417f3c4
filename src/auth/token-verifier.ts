import { decodeJwt, jwtVerify } from 'jose';
import type { JWTPayload } from 'jose';
import { hash } from 'node:crypto';
import { findSubject, grantsOfClaims } from './claims.ts';
import { KeySet } from './key-set.ts';
import type { IssuerSettings } from '../model/issuer.ts';
import type { AuthSettings } from './settings.ts';
import { tokenRefusal, toRefusal } from './token-refusal.ts';
import { VerifiedTokens } from './verified-tokens.ts';
import type { VerifiedToken } from './verified-tokens.ts';

interface TrustedIssuer {
  readonly settings: IssuerSettings;
  readonly keySet: KeySet;
}

/** Checks access tokens against the configured issuers. Nothing that a token names is ever fetched. */
export class TokenVerifier {
  readonly #settings: AuthSettings;
  readonly #clock: () => number;
  readonly #issuers: ReadonlyMap<string, TrustedIssuer>;
  readonly #verified = new VerifiedTokens();

  constructor(settings: AuthSettings, clock: () => number) {
    this.#settings = settings;
    this.#clock = clock;
    this.#issuers = new Map(
      settings.issuers.map((issuer) => [
        issuer.issuer,
        { settings: issuer, keySet: new KeySet(issuer, settings, clock) },
      ]),
    );
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
      return toVerifiedToken(await this.#readClaims(token, issuer), issuer.settings);
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

  async #readClaims(token: string, { settings, keySet }: TrustedIssuer): Promise<JWTPayload> {
    const now = this.#clock();
    // Of the header only `alg` and `kid` are read: `jwk`, `jku`, `x5c` and `x5u` would let the token bring its own key.
    const { payload } = await jwtVerify(token, (header) => keySet.find(header), {
      issuer: settings.issuer,
      audience: settings.audience,
      algorithms: [...settings.algorithms],
      requiredClaims: ['exp'],
      clockTolerance: this.#settings.clockSkewSeconds,
      currentDate: new Date(now),
    });
    const latestSeconds = now / 1000 + this.#settings.clockSkewSeconds;
    if (payload.iat !== undefined && payload.iat > latestSeconds) throw tokenRefusal('it is not valid yet');
    return payload;
  }
}

function toVerifiedToken(claims: JWTPayload, settings: IssuerSettings): VerifiedToken {
  const subject = findSubject(claims, settings.subjectClaim);
  if (subject === undefined) throw tokenRefusal('it names no usable subject');
  return {
    // An issuer's address holds no "#", so two different pairs never give one text.
    callerId: `token:${settings.issuer}#${subject}`,
    grants: grantsOfClaims(claims, settings.grants),
    expiresAt: (claims.exp ?? 0) * 1000,
  };
}
