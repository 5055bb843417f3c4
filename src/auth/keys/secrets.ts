import { hash, randomBytes } from 'node:crypto';

const PREFIX = 'ty_';
const RANDOM_BYTES = 32;

/** The key is for its holder, once; only the digest is kept. */
export function generateApiKey(): { key: string; digest: string } {
  const key = PREFIX + randomBytes(RANDOM_BYTES).toString('base64url');
  return { key, digest: digestApiKey(key) };
}

/** A plain digest is enough: 256 random bits cannot be guessed, so there is nothing that a slow or salted one would add. */
export function digestApiKey(key: string): string {
  return hash('sha256', key, 'hex');
}

/** No JWT begins so: a "t" stands for a first byte outside ASCII, where its header is a JSON object. */
export function isApiKey(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** Three parts with points between, the first of them a JSON object in base64 (RFC 7515, section 7.1). */
export function looksLikeToken(text: string): boolean {
  return /^ey[^.]*\.[^.]*\.[^.]*$/.test(text);
}

const SECRET_PREFIX = 'tcs_';
const SECRET_BYTES = 32;

/** The secret is for its holder, once; only the digest is kept. */
export function generateClientSecret(): { secret: string; digest: string } {
  const secret = SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64url');
  return { secret, digest: digestClientSecret(secret) };
}

/** A plain digest is enough, as for API keys: 256 random bits cannot be guessed. */
export function digestClientSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}
