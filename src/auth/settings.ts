import { SIGNATURE_ALGORITHMS } from '../model/access.ts';
import type { IssuerSettings } from '../model/access.ts';
import { isSafeAddress } from '../model/address.ts';

export interface AuthSettings {
  /** If false, a request without a credential is an administrator's. An invalid credential is still refused. */
  readonly required: boolean;
  readonly issuers: readonly IssuerSettings[];
  /** The issuer of our own token endpoint; `undefined` without one. */
  readonly ownIssuer?: string | undefined;
  readonly tokenBytesMax: number;
  readonly clockSkewSeconds: number;
  /** The minimum time between two fetches of one issuer's keys, whether they succeed or not. */
  readonly keySetCooldownSeconds: number;
  /** How long fetched keys may be used. They are fetched again after half of this, so a short outage goes unnoticed. */
  readonly keySetSeconds: number;
  /** For discovery and key set together. */
  readonly fetchSeconds: number;
}

/**
 * What is wrong with an issuer's settings, one sentence each. Addresses are not quoted, because they may contain a
 * password.
 */
export function checkIssuerSettings(issuer: IssuerSettings): string[] {
  return [
    ...addressFaults(issuer),
    ...algorithmFaults(issuer.algorithms),
    ...(issuer.audience === '' ? ['The audience is empty.'] : []),
    ...(issuer.subjectClaim === '' ? ['The subject claim is empty.'] : []),
    // Every text contains the empty value, so it would always match.
    ...issuer.grants.flatMap(({ claim, value }) =>
      claim === '' || value === '' ? ['A grant by claim has an empty claim or value.'] : [],
    ),
  ];
}

function addressFaults({ issuer, keySetUrl }: IssuerSettings): string[] {
  const rule = 'must be https, or http on loopback, without user name and fragment';
  const faults = [];
  if (!isSafeAddress(issuer)) faults.push(`The issuer's address ${rule}.`);
  // OpenID Connect Discovery 1.0, section 2: an issuer has no query.
  else if (issuer.includes('?')) faults.push("The issuer's address must not have a query.");
  if (keySetUrl !== undefined && !isSafeAddress(keySetUrl)) faults.push(`The key set's address ${rule}.`);
  return faults;
}

function algorithmFaults(algorithms: readonly string[]): string[] {
  if (algorithms.length === 0) return ['No signature algorithm is allowed.'];
  return algorithms
    .filter((algorithm) => !SIGNATURE_ALGORITHMS.includes(algorithm))
    .map((algorithm) => `The algorithm ${JSON.stringify(algorithm)} is not one of ${SIGNATURE_ALGORITHMS.join(', ')}.`);
}
