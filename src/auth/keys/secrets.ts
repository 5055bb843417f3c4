import { hash, randomBytes } from 'node:crypto';

const KEY_PREFIX = 'ty_';
const CLIENT_SECRET_PREFIX = 'tcs_';
const RANDOM_BYTES = 32;

/** The key is shown to its holder once; only the digest is stored. */
export function generateApiKey(): { key: string; digest: string } {
  const key = KEY_PREFIX + randomBytes(RANDOM_BYTES).toString('base64url');
  return { key, digest: digestSecret(key) };
}

/** Like `generateApiKey`, for a client of the token endpoint. */
export function generateClientSecret(): { secret: string; digest: string } {
  const secret = CLIENT_SECRET_PREFIX + randomBytes(RANDOM_BYTES).toString('base64url');
  return { secret, digest: digestSecret(secret) };
}

/** A plain digest is enough: 256 random bits cannot be guessed, so a slow or salted one would add nothing. */
export function digestSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/** No JWT begins like this: its header is a JSON object, whose base64 begins with "ey". */
export function isApiKey(text: string): boolean {
  return text.startsWith(KEY_PREFIX);
}

/** Three parts separated by dots, the first of them a JSON object in base64 (RFC 7515, section 7.1). */
export function looksLikeToken(text: string): boolean {
  return /^ey[^.]*\.[^.]*\.[^.]*$/.test(text);
}

/** Times are in milliseconds since 1970. */
export function isExpired({ expiresAt }: { readonly expiresAt?: number }, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}
