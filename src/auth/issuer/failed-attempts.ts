import { LRUCache } from 'lru-cache';

interface FailedAttemptsOptions {
  readonly failuresMax: number;
  readonly windowSeconds: number;
  /** How many sources are remembered at once. */
  readonly sourcesMax: number;
  readonly clock: () => number;
}

interface Window {
  readonly startedAt: number;
  readonly failures: number;
}

/** Counts failures per source within windows of time, so that a stream of guesses, or a broken loop, stays cheap. */
export class FailedAttempts {
  readonly #options: FailedAttemptsOptions;
  readonly #windows: LRUCache<string, Window>;

  constructor(options: FailedAttemptsOptions) {
    this.#options = options;
    this.#windows = new LRUCache({ max: options.sourcesMax });
  }

  /** Seconds until the source may try again; 0 when it may now. */
  waitSeconds(source: string): number {
    const window = this.#current(source);
    if (window === undefined || window.failures < this.#options.failuresMax) return 0;
    const elapsed = this.#options.clock() - window.startedAt;
    return Math.max(1, Math.ceil(this.#options.windowSeconds - elapsed / 1000));
  }

  fail(source: string): void {
    const { startedAt, failures } = this.#current(source) ?? { startedAt: this.#options.clock(), failures: 0 };
    this.#windows.set(source, { startedAt, failures: failures + 1 });
  }

  #current(source: string): Window | undefined {
    const window = this.#windows.peek(source);
    if (window === undefined) return undefined;
    const elapsed = this.#options.clock() - window.startedAt;
    return elapsed >= 0 && elapsed < this.#options.windowSeconds * 1000 ? window : undefined;
  }
}
