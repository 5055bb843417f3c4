export interface FailedAttemptsOptions {
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
  readonly #windows = new Map<string, Window>();

  constructor(options: FailedAttemptsOptions) {
    this.#options = options;
  }

  /** Seconds until the source may try again; 0 when it may now. */
  waitSeconds(source: string): number {
    const window = this.#current(source);
    if (window === undefined || window.failures < this.#options.failuresMax) return 0;
    const elapsed = this.#options.clock() - window.startedAt;
    return Math.max(1, Math.ceil(this.#options.windowSeconds - elapsed / 1000));
  }

  fail(source: string): void {
    const window = this.#current(source) ?? { startedAt: this.#options.clock(), failures: 0 };
    this.#windows.delete(source);
    const [oldest] = this.#windows.keys();
    if (this.#windows.size >= this.#options.sourcesMax && oldest !== undefined) this.#windows.delete(oldest);
    this.#windows.set(source, { ...window, failures: window.failures + 1 });
  }

  #current(source: string): Window | undefined {
    const window = this.#windows.get(source);
    if (window === undefined) return undefined;
    const elapsed = this.#options.clock() - window.startedAt;
    return elapsed >= 0 && elapsed < this.#options.windowSeconds * 1000 ? window : undefined;
  }
}
