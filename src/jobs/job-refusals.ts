import type { JobRecord } from '../catalog/catalog.ts';
import { ServiceError } from '../errors/service-error.ts';

/** The process is shutting down; the job itself has not failed. */
export class Interrupted extends ServiceError {
  constructor() {
    super('ServiceUnavailable', 'The server is shutting down; the job continues after the next start.');
  }
}

export class Cancelled extends ServiceError {
  constructor() {
    super('InvalidInput', 'The job was cancelled.');
  }
}

export function toFailure(phase: string, error: unknown): NonNullable<JobRecord['failure']> {
  if (!(error instanceof ServiceError)) return { phase, message: 'The job failed.', isRetryable: false };
  return { phase, message: error.detail, isRetryable: error.traits.retryable };
}

export function shuttingDown(): ServiceError {
  return unavailable('The server is shutting down.', 1);
}

export function unavailable(detail: string, retryAfterSeconds: number): ServiceError {
  return new ServiceError('ServiceUnavailable', detail, { retryAfterSeconds });
}
