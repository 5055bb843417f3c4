import { ERROR_KINDS, STATUS_TEXTS } from './codes.ts';
import type { ErrorKind, ErrorName, StatusText } from './codes.ts';

export interface ServiceErrorOptions {
  /** What would be right, as a second sentence for the caller. */
  readonly hint?: string;
  /** For the log only: never leaves the process. */
  readonly cause?: unknown;
  readonly retryAfterSeconds?: number;
}

/**
 * The only error that is meant for callers. `message` is public: one sentence that says what was wrong, in the caller's
 * own words. The cause is private.
 */
export class ServiceError extends Error {
  readonly kind: ErrorName;
  readonly hint: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(kind: ErrorName, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ServiceError';
    this.kind = kind;
    this.hint = options.hint;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  get row(): ErrorKind {
    return ERROR_KINDS[this.kind];
  }

  get detail(): string {
    return this.hint === undefined ? this.message : `${this.message} ${this.hint}`;
  }
}

export function statusText(status: number): StatusText {
  return STATUS_TEXTS[status] ?? { type: '/errors/server-error', title: 'Internal Server Error' };
}
