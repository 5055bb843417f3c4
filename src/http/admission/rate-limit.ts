import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../errors/service-error.ts';

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** A token bucket per caller that holds one second's worth of requests. A rate of 0 turns the limit off. */
export class RateLimit {
  readonly #requestsPerSecond: number;
  readonly #now: () => number;
  readonly #buckets: LRUCache<string, Bucket>;

  constructor(requestsPerSecond: number, { callersMax: max = 10_000, now = (): number => performance.now() } = {}) {
    this.#requestsPerSecond = requestsPerSecond;
    this.#now = now;
    this.#buckets = new LRUCache({ max });
  }

  take(callerId: string): void {
    const rate = this.#requestsPerSecond;
    if (rate === 0) return;
    const now = this.#now();
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
