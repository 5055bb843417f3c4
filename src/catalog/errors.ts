import { ServiceError, invalidInput } from '../errors/service-error.ts';
import { quoteForMessage } from '../model/identifier.ts';

const RETRY_AFTER_SECONDS = 1;
/** An operator has to free space. */
const FULL_RETRY_AFTER_SECONDS = 30;

export function catalogFull(cause: unknown): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The storage of the catalog is full.', {
    cause,
    retryAfterSeconds: FULL_RETRY_AFTER_SECONDS,
  });
}

export function catalogFailed(cause: unknown): ServiceError {
  return new ServiceError('Internal', 'The catalog failed to process the request.', { cause });
}

/**
 * A row that others refer to is only deleted with its database or namespace, which another process did before this
 * write.
 */
export function referencedRowRemoved(cause: unknown): ServiceError {
  return new ServiceError('ConcurrentModification', 'Another request removed an object that this request needs.', {
    cause,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

/**
 * libsql truncates text at a NUL when it reads it back, and PostgreSQL refuses it; neither preserves a lone surrogate.
 */
export function requireStorableText(text: string): void {
  if (text.includes('\u0000') || /\p{Cs}/u.test(text)) {
    throw invalidInput(`The text ${quoteForMessage(text)} cannot be stored in the catalog.`);
  }
}
