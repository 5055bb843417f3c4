import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../errors/service-error.ts';

interface Bucket {
  tokens: number;
  filledAt: number;
}

export interface RateLimitOptions {
  /** 0 turns the limit off. */
  readonly requestsPerSecond: number;
  readonly callersMax: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** A token bucket per caller that holds one second's worth of requests. */
export class RateLimit {
  readonly #options: RateLimitOptions;
  readonly #buckets: LRUCache<string, Bucket>;

  constructor(options: RateLimitOptions) {
    this.#options = options;
    this.#buckets = new LRUCache({ max: options.callersMax });
  }

  take(callerId: string): void {
    const { requestsPerSecond: rate } = this.#options;
    if (rate === 0) return;
    const now = this.#options.now();
    const bucket = this.#buckets.get(callerId) ?? { tokens: rate, filledAt: now };
    bucket.tokens = Math.min(rate, bucket.tokens + ((now - bucket.filledAt) / 1000) * rate);
    bucket.filledAt = now;
    this.#buckets.set(callerId, bucket);
    if (bucket.tokens < 1) {
      throw new ServiceError('Throttling', `This caller sends more than ${rate} requests a second.`, {
        hint: 'Slow down and try again after the time in Retry-After.',
        retryAfterSeconds: 1,
      });
    }
    bucket.tokens -= 1;
  }
}
