import { ServiceError } from '../errors/service-error.ts';

export function notSynced(cause: unknown): ServiceError {
  return new ServiceError(
    'ServiceUnavailable',
    'The disk failed to keep the write, which may have been made or not. The table is read-only until the service starts again.',
    { cause, retryAfterSeconds: 60 },
  );
}

export function notSyncedYet(cause: unknown): ServiceError {
  return new ServiceError(
    'ServiceUnavailable',
    'The service lacks file handles or memory to sync the write, which may have been made or not.',
    { cause, retryAfterSeconds: 5 },
  );
}

export function shortOfResources(cause: unknown): ServiceError {
  return new ServiceError(
    'ServiceUnavailable',
    'The service lacks file handles or memory to sync an earlier write. This write was not made.',
    { cause, retryAfterSeconds: 5 },
  );
}

export function readOnly(): ServiceError {
  return new ServiceError(
    'ServiceUnavailable',
    'The disk failed to keep an earlier write. The table is read-only until the service starts again.',
    { retryAfterSeconds: 60 },
  );
}
