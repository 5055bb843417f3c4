import type { Grant } from '../../model/access.ts';

/** What a good token says: never the token itself. */
export interface VerifiedToken {
  readonly callerId: string;
  readonly grants: readonly Grant[];
  readonly expiresAt: number;
  /** When the token is one of ours: what the catalog must still know for it to count. */
  readonly own?: OwnToken;
}

export interface OwnToken {
  readonly clientId: string;
  readonly keyId: string;
}

interface Entry {
  readonly verified: VerifiedToken;
  readonly keptUntil: number;
}

const KEPT_MILLISECONDS_MAX = 60_000;
const TOKENS_MAX = 10_000;

/**
 * Tokens that have been checked, by digest, so that the next request with the same one costs no signature. A token lives
 * here for a minute at most: a key that its issuer withdraws soon counts for nothing.
 */
export class VerifiedTokens {
  readonly #entries = new Map<string, Entry>();

  find(digest: string, now: number): VerifiedToken | undefined {
    const entry = this.#entries.get(digest);
    if (entry === undefined) return undefined;
    if (now < entry.keptUntil) return entry.verified;
    this.#entries.delete(digest);
    return undefined;
  }

  /** Past the bound, the one kept for longest goes: all have about the same life, so it is the next to end anyway. */
  keep(digest: string, verified: VerifiedToken, now: number): void {
    this.#entries.delete(digest);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size >= TOKENS_MAX && oldest !== undefined) this.#entries.delete(oldest);
    this.#entries.set(digest, { verified, keptUntil: Math.min(verified.expiresAt, now + KEPT_MILLISECONDS_MAX) });
  }
}
