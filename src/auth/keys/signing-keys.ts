import { calculateJwkThumbprint, createLocalJWKSet, exportJWK, generateKeyPair } from 'jose';
import type { CryptoKey, JWK, JWSHeaderParameters } from 'jose';

/** The only algorithm of our own tokens: small, quick to sign, and supported by every library. */
export const OWN_ALGORITHM = 'ES256';

/** A key pair in the catalog. Secret: `jwk` holds both halves. */
export interface SigningKeyText {
  readonly id: string;
  readonly jwk: string;
}

export async function generateSigningKey(): Promise<SigningKeyText> {
  const { privateKey } = await generateKeyPair(OWN_ALGORITHM, { extractable: true });
  const pair = await exportJWK(privateKey);
  return { id: await calculateJwkThumbprint(pair), jwk: JSON.stringify(pair) };
}

/** The catalog gives new lists of the same keys. */
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
function matchPublicKeys(keys: readonly SigningKeyText[]): (header: JWSHeaderParameters) => Promise<CryptoKey> {
  const toPublicJwk = (key: SigningKeyText): JWK => {
    const { d: _secret, ...half } = toPrivateJwk(key);
    return half;
  };
  return createLocalJWKSet({ keys: keys.map(toPublicJwk) });
}

/** The keys of our own token endpoint, from the catalog. */
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

  /** Whether tokens of this key are still valid. */
  async has(id: string): Promise<boolean> {
    const keys = await this.#list();
    return keys.some((key) => key.id === id);
  }

  close(): void {}
}
