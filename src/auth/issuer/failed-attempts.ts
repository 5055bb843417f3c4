import { LRUCache } from 'lru-cache';

const WINDOW_SECONDS = 60;

/** Counts failures per source in windows of a minute, so that guessing, or a broken loop, stays cheap. */
export class FailedAttempts {
  readonly #failuresMax: number;
  readonly #failures: LRUCache<string, number>;

  constructor(failuresMax: number, { sourcesMax: max = 10_000, now = (): number => performance.now() } = {}) {
    this.#failuresMax = failuresMax;
    // A window begins with its first failure; later ones do not extend it.
    const window = { ttl: WINDOW_SECONDS * 1000, noUpdateTTL: true, ttlResolution: 0, perf: { now } };
    this.#failures = new LRUCache({ max, ...window });
  }

  /** Seconds until the source may try again; 0 if it may now. */
  waitSeconds(source: string): number {
    if ((this.#failures.get(source) ?? 0) < this.#failuresMax) return 0;
    return Math.ceil(this.#failures.getRemainingTTL(source) / 1000);
  }

  fail(source: string): void {
    this.#failures.set(source, (this.#failures.get(source) ?? 0) + 1);
  }
}
