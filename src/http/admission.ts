import { ServiceError } from '../errors/service-error.ts';
import type { HttpLimits } from '../model/limits.ts';

/** Gives the place back. Safe to call twice. */
export type Leave = () => void;

/** How much the service takes on at once. What does not fit is refused at once: the caller knows best when to come back. */
export class Admission {
  private readonly limits: HttpLimits;
  private requests = 0;
  private uploads = 0;
  private idle: (() => void)[] = [];

  constructor(limits: HttpLimits) {
    this.limits = limits;
  }

  enter(isUpload: boolean): Leave {
    if (this.requests >= this.limits.requestsMax) {
      throw tooMany(`${this.limits.requestsMax} requests`);
    }
    if (isUpload && this.uploads >= this.limits.uploadsMax) {
      throw tooMany(`${this.limits.uploadsMax} uploads`);
    }
    this.requests += 1;
    if (isUpload) this.uploads += 1;
    return once(() => this.leave(isUpload));
  }

  get running(): number {
    return this.requests;
  }

  /** Resolves when nothing is running. */
  async whenIdle(): Promise<void> {
    if (this.requests === 0) return;
    await new Promise<void>((resolve) => this.idle.push(resolve));
  }

  private leave(isUpload: boolean): void {
    this.requests -= 1;
    if (isUpload) this.uploads -= 1;
    if (this.requests > 0) return;
    const waiting = this.idle;
    this.idle = [];
    for (const resolve of waiting) resolve();
  }
}

function tooMany(what: string): ServiceError {
  return new ServiceError(
    'ServiceUnavailable',
    `The service is already busy with ${what}, the most that it takes at once.`,
    {
      hint: 'Try again after the time in Retry-After.',
      retryAfterSeconds: 1,
    },
  );
}

function once(action: () => void): Leave {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    action();
  };
}
