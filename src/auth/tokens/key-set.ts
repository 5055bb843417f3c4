import { createLocalJWKSet, errors } from 'jose';
import type { CryptoKey, JWK, JWSHeaderParameters } from 'jose';
import { ServiceError } from '../../errors/service-error.ts';
import { fetchKeySet } from './identity-provider.ts';
import { selectUsableKeys, summarizeFaults } from './usable-keys.ts';
import type { IssuerSettings } from '../../model/access.ts';
import type { AuthSettings } from '../settings.ts';

type KeySetTimes = Pick<AuthSettings, 'keySetCooldownSeconds' | 'keySetSeconds' | 'fetchSeconds'>;

/** How a fetch of an issuer's keys ended, and which of them cannot be read. */
export type KeySetFetch =
  | { readonly kind: 'key-set-fetched'; readonly issuer: string; readonly keys: number; readonly milliseconds: number }
  | { readonly kind: 'key-set-failed'; readonly issuer: string; readonly cause: unknown }
  | { readonly kind: 'key-set-keys-skipped'; readonly issuer: string; readonly keys: number; readonly reason: string };

/** Finds the key that a token's header names. */
export type FindKey = (header: JWSHeaderParameters) => Promise<CryptoKey>;

interface FetchedKeys {
  readonly match: FindKey;
  readonly fetchedAt: number;
}

/**
 * The public keys of one issuer. The library's own remote key set is not used: its cool-down begins only after a
 * success, so a failing provider is asked for every token, and it does not bound the size of the document.
 */
export class KeySet {
  readonly issuer: IssuerSettings;
  readonly #times: KeySetTimes;
  readonly #clock: () => number;
  readonly #onFetch: (fetch: KeySetFetch) => void;
  #keys: FetchedKeys | undefined;
  #attemptedAt = Number.NEGATIVE_INFINITY;
  /** Why the latest attempt failed; `undefined` if it succeeded. */
  #failure: unknown;
  #fetching: Promise<void> | undefined;
  #abort = new AbortController();

  constructor(issuer: IssuerSettings, times: KeySetTimes, clock: () => number, onFetch: (fetch: KeySetFetch) => void) {
    this.issuer = issuer;
    this.#times = times;
    this.#clock = clock;
    this.#onFetch = onFetch;
  }

  /**
   * A key that a fresh set does not contain throws `JWKSNoMatchingKey`; without a fresh set the token may still be
   * valid, so the refusal is `ServiceUnavailable`.
   */
  readonly find: FindKey = async (header) => {
    const known = this.#keysYoungerThan(this.#times.keySetSeconds);
    if (known !== undefined) {
      this.#refreshAhead();
      try {
        return await known.match(header);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      }
    }
    const fresh = await this.#requireFreshKeys();
    return fresh.match(header);
  };

  close(): void {
    this.#abort.abort(new Error('The authenticator was closed.'));
  }

  #keysYoungerThan(seconds: number): FetchedKeys | undefined {
    return this.#keys !== undefined && this.#isWithin(seconds, this.#keys.fetchedAt) ? this.#keys : undefined;
  }

  #refreshAhead(): void {
    const isOld = this.#keysYoungerThan(this.#times.keySetSeconds / 2) === undefined;
    if (isOld && !this.#isCooling()) void this.#fetch();
  }

  async #requireFreshKeys(): Promise<FetchedKeys> {
    if (this.#fetching !== undefined || !this.#isCooling()) await this.#fetch();
    const keys = this.#keysYoungerThan(this.#times.keySetSeconds);
    if (keys === undefined || this.#failure !== undefined) throw this.#unavailable();
    return keys;
  }

  /** Sets `#failure` instead of rejecting. Concurrent calls share one fetch. */
  #fetch(): Promise<void> {
    this.#fetching ??= this.#load().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #load(): Promise<void> {
    this.#attemptedAt = this.#clock();
    const abort = new AbortController();
    this.#abort = abort;
    const { fetchSeconds } = this.#times;
    const timer = setTimeout(
      () => abort.abort(new Error(`No response within ${fetchSeconds} s.`)),
      fetchSeconds * 1000,
    );
    const { issuer } = this.issuer;
    const startedAt = performance.now();
    try {
      const keys = await this.#select(await fetchKeySet(this.issuer, abort.signal));
      this.#failure = undefined;
      const milliseconds = Math.round(performance.now() - startedAt);
      this.#onFetch({ kind: 'key-set-fetched', issuer, keys: keys.length, milliseconds });
    } catch (cause) {
      this.#failure = cause;
      this.#onFetch({ kind: 'key-set-failed', issuer, cause });
    } finally {
      clearTimeout(timer);
    }
  }

  /** The earlier keys are withdrawn, even when none of the new ones can be used. */
  async #select(keys: readonly unknown[]): Promise<readonly JWK[]> {
    const { issuer, algorithms } = this.issuer;
    const { usable, broken, faults } = await selectUsableKeys(keys, algorithms);
    this.#keys = { match: createLocalJWKSet({ keys: [...usable] }), fetchedAt: this.#clock() };
    if (usable.length === 0 && faults.length > 0) {
      throw new Error(`None of the ${faults.length} keys of the set can be used: ${summarizeFaults(faults)}.`);
    }
    if (broken.length > 0) {
      const reason = summarizeFaults(broken);
      this.#onFetch({ kind: 'key-set-keys-skipped', issuer, keys: broken.length, reason });
    }
    return usable;
  }

  #isCooling(): boolean {
    return this.#isWithin(this.#times.keySetCooldownSeconds, this.#attemptedAt);
  }

  /** A future time, after the clock was set back, counts as long ago. */
  #isWithin(seconds: number, since: number): boolean {
    const elapsed = this.#clock() - since;
    return elapsed >= 0 && elapsed < seconds * 1000;
  }

  #unavailable(): ServiceError {
    const cooledAt = this.#attemptedAt + this.#times.keySetCooldownSeconds * 1000;
    return new ServiceError(
      'ServiceUnavailable',
      'The access token cannot be verified: the keys of its issuer are not available.',
      {
        hint: 'Try again later.',
        retryAfterSeconds: Math.max(1, Math.ceil((cooledAt - this.#clock()) / 1000)),
        cause: this.#failure,
      },
    );
  }
}
