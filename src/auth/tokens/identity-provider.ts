import type { IssuerSettings } from '../../model/access.ts';
import { isSafeAddress } from '../../model/address.ts';
import { formatByteLimit } from '../../model/value-text.ts';

/** Real documents have 1 to 20 KB. */
const DOCUMENT_BYTES_MAX = 256 * 1024;
/** Real sets have 1 to 20. Reading many costs time. */
const KEYS_MAX = 500;

/** Fetches an issuer's keys, by discovery unless the settings give the address. Errors are for the log. */
export async function fetchKeySet(issuer: IssuerSettings, signal: AbortSignal): Promise<readonly unknown[]> {
  const address = issuer.keySetUrl ?? (await discoverKeySet(issuer.issuer, signal));
  const { keys } = await fetchDocument(address, signal);
  if (!Array.isArray(keys)) throw new Error('The key set has no list of keys.');
  if (keys.length > KEYS_MAX) throw new Error(`The key set has more than ${KEYS_MAX} keys.`);
  return keys;
}

async function discoverKeySet(issuer: string, signal: AbortSignal): Promise<string> {
  const { issuer: named, jwks_uri: address } = await fetchDocument(discoveryAddress(issuer), signal);
  // OpenID Connect Discovery 1.0, section 4.3: a document about another issuer must not be used.
  if (named !== issuer) throw new Error('The discovery document describes a different issuer.');
  if (typeof address !== 'string' || !isKeySetAddressOf(issuer, address)) {
    throw new Error('The discovery document has no usable key set address.');
  }
  return address;
}

async function fetchDocument(address: string, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
  // A redirect could lead to an unchecked address.
  const response = await fetch(address, { redirect: 'error', headers: { accept: 'application/json' }, signal });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`The identity provider responded with status ${response.status}.`);
  }
  const document: unknown = JSON.parse(await readBounded(response));
  if (typeof document !== 'object' || document === null) throw new Error('The document is not a JSON object.');
  return Object.fromEntries(Object.entries(document));
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > DOCUMENT_BYTES_MAX)
      throw new Error(`The document is larger than ${formatByteLimit(DOCUMENT_BYTES_MAX)}.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** A remote provider must not point to this machine: only a local one may have an http address. */
export function isKeySetAddressOf(issuer: string, keySetUrl: string): boolean {
  if (!isSafeAddress(keySetUrl)) return false;
  return new URL(keySetUrl).protocol === 'https:' || (isSafeAddress(issuer) && new URL(issuer).protocol === 'http:');
}

/** OpenID Connect Discovery 1.0, section 4: appended to the issuer without its trailing slash. */
export function discoveryAddress(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
}
