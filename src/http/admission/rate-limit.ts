import { ServiceError } from '../../errors/service-error.ts';

interface Bucket {
  tokens: number;
  filledAt: number;
}

export interface RateSettings {
  /** 0 turns the rate off. */
  readonly requestsPerSecond: number;
  readonly callersMax: number;
  /** Milliseconds that never go back. */
  readonly now: () => number;
}

/** A bucket per caller that holds one second's worth of requests. */
export class RateLimit {
  private readonly settings: RateSettings;
  private readonly buckets = new Map<string, Bucket>();

  constructor(settings: RateSettings) {
    this.settings = settings;
  }

  take(callerId: string): void {
    const rate = this.settings.requestsPerSecond;
    if (rate === 0) return;
    const bucket = this.fill(callerId, rate);
    if (bucket.tokens < 1) throw overRate(rate);
    bucket.tokens -= 1;
  }

  private fill(callerId: string, rate: number): Bucket {
    const now = this.settings.now();
    const bucket = this.buckets.get(callerId) ?? { tokens: rate, filledAt: now };
    bucket.tokens = Math.min(rate, bucket.tokens + ((now - bucket.filledAt) / 1000) * rate);
    bucket.filledAt = now;
    // The most recently seen caller goes last, so that the first one is the one to forget.
    this.buckets.delete(callerId);
    this.buckets.set(callerId, bucket);
    this.forgetOldest();
    return bucket;
  }

  private forgetOldest(): void {
    if (this.buckets.size <= this.settings.callersMax) return;
    const oldest = this.buckets.keys().next();
    if (oldest.done !== true) this.buckets.delete(oldest.value);
  }
}

function overRate(rate: number): ServiceError {
  return new ServiceError('Throttling', `This caller sends more than ${rate} requests a second.`, {
    hint: 'Slow down and try again after the time in Retry-After.',
    retryAfterSeconds: 1,
  });
}
