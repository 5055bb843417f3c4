import { calculateJwkThumbprint, createLocalJWKSet, exportJWK, generateKeyPair } from 'jose';
import type { CryptoKey, JWK, JWSHeaderParameters } from 'jose';

/** The one algorithm of our own tokens: small, quick to sign, and read by every library. */
export const OWN_ALGORITHM = 'ES256';

/** A pair as the catalog keeps it. Secret: `jwk` holds both halves. */
export interface SigningKeyText {
  readonly id: string;
  readonly jwk: string;
}

export async function generateSigningKey(): Promise<SigningKeyText> {
  const { privateKey } = await generateKeyPair(OWN_ALGORITHM, { extractable: true });
  const pair = await exportJWK(privateKey);
  return { id: await calculateJwkThumbprint(pair), jwk: JSON.stringify(pair) };
}

/** The catalog hands out new lists of the same keys. */
export function isSameKeys(one: readonly SigningKeyText[], other: readonly SigningKeyText[]): boolean {
  return one.length === other.length && one.every((key, index) => key.id === other[index]?.id);
}

/** For the signer. */
export function toPrivateJwk({ id, jwk }: SigningKeyText): JWK {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Written by `generateSigningKey`, and the libraries check each member.
  const pair = JSON.parse(jwk) as JWK;
  return { ...pair, kid: id, alg: OWN_ALGORITHM, use: 'sig' };
}

/** Finds the public half that a token's header names. */
export function matchPublicKeys(keys: readonly SigningKeyText[]): (header: JWSHeaderParameters) => Promise<CryptoKey> {
  return createLocalJWKSet({ keys: keys.map(toPublicJwk) });
}

function toPublicJwk(key: SigningKeyText): JWK {
  const { d: _secret, ...half } = toPrivateJwk(key);
  return half;
}

/** The keys that our own token endpoint signs with, from the catalog: no request leaves the process for them. */
export class OwnKeys {
  readonly #list: () => Promise<readonly SigningKeyText[]>;
  #known: readonly SigningKeyText[] = [];
  #match = matchPublicKeys([]);

  constructor(list: () => Promise<readonly SigningKeyText[]>) {
    this.#list = list;
  }

  async find(header: JWSHeaderParameters): Promise<CryptoKey> {
    const keys = await this.#list();
    if (!isSameKeys(keys, this.#known)) {
      this.#match = matchPublicKeys(keys);
      this.#known = keys;
    }
    return this.#match(header);
  }

  /** Whether tokens of this key still count. */
  async has(id: string): Promise<boolean> {
    const keys = await this.#list();
    return keys.some((key) => key.id === id);
  }

  close(): void {}
}
