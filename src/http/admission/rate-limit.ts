import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../errors/service-error.ts';

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** Token buckets with a capacity of one second of requests. */
export class RateLimit {
  readonly #now: () => number;
  readonly #buckets: LRUCache<string, Bucket>;

  constructor({ subjectsMax: max = 10_000, now = (): number => performance.now() } = {}) {
    this.#now = now;
    this.#buckets = new LRUCache({ max });
  }

  /** Returns how many more requests may follow at once, or refuses with the message. */
  take(subject: string, requestsPerSecond: number, message: string): number {
    const now = this.#now();
    const bucket = this.#buckets.get(subject) ?? { tokens: requestsPerSecond, filledAt: now };
    const added = ((now - bucket.filledAt) / 1000) * requestsPerSecond;
    bucket.tokens = Math.min(requestsPerSecond, bucket.tokens + added);
    bucket.filledAt = now;
    this.#buckets.set(subject, bucket);
    if (bucket.tokens < 1) {
      throw new ServiceError('Throttling', message, {
        hint: 'Slow down and try again after the time in Retry-After.',
        retryAfterSeconds: 1,
      });
    }
    bucket.tokens -= 1;
    return Math.floor(bucket.tokens);
  }
}
