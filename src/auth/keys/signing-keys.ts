import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import type { JWK } from 'jose';

/** The only algorithm of our own tokens: short signatures, fast, and supported by every library. */
export const OWN_ALGORITHM = 'ES256';

/** A key pair in the catalog. Secret: `jwk` contains the private half. */
export interface SigningKeyText {
  readonly id: string;
  readonly jwk: string;
}

export async function generateSigningKey(): Promise<SigningKeyText> {
  const { privateKey } = await generateKeyPair(OWN_ALGORITHM, { extractable: true });
  const pair = await exportJWK(privateKey);
  return { id: await calculateJwkThumbprint(pair), jwk: JSON.stringify(pair) };
}

/** Calls `create` again only if the keys change: the catalog returns new lists of the same keys. */
export function oncePerKeys<Created>(
  create: (keys: readonly SigningKeyText[]) => Created,
): (keys: readonly SigningKeyText[]) => Created {
  let current: { readonly ids: string; readonly created: Created } | undefined;
  return (keys) => {
    const ids = keys.map(({ id }) => id).join();
    if (current?.ids !== ids) current = { ids, created: create(keys) };
    return current.created;
  };
}

/** For the signer. */
export function toPrivateJwk({ id, jwk }: SigningKeyText): JWK {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Written by `generateSigningKey`, and the libraries check each member.
  const pair = JSON.parse(jwk) as JWK;
  return { ...pair, kid: id, alg: OWN_ALGORITHM, use: 'sig' };
}

/** For the verifier. */
export function toPublicJwk(key: SigningKeyText): JWK {
  const { d: _secret, ...half } = toPrivateJwk(key);
  return half;
}
