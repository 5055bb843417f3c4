import { hash, randomBytes } from 'node:crypto';

const SECRET_PREFIX = 'tcs_';
const SECRET_BYTES = 32;

/** The secret is for its holder, once; only the digest is kept. */
export function makeClientSecret(): { secret: string; digest: string } {
  const secret = SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64url');
  return { secret, digest: digestClientSecret(secret) };
}

/** A plain digest is enough, as for API keys: 256 random bits cannot be guessed. */
export function digestClientSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}
