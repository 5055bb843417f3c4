import { ServiceError, statusText } from '../errors/service-error.ts';
import type { Dialect } from '../operations/operation.ts';
import type { ErrorBody } from '../wire/shapes.ts';
import { statusFor } from './dialects.ts';

export interface ErrorReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorBody;
}

export interface ErrorPlace {
  readonly instance: string;
  readonly dialect: Dialect;
}

const INSTANCE_CHARACTERS_MAX = 2048;

export function toErrorReply(error: ServiceError, place: ErrorPlace): ErrorReply {
  const status = statusFor(error.kind, place.dialect);
  const { type, title } = statusText(status);
  return {
    status,
    headers: errorHeaders(error, status),
    body: {
      type,
      title,
      status,
      detail: error.detail,
      instance: place.instance.slice(0, INSTANCE_CHARACTERS_MAX),
      code: error.row.code,
      error: error.message,
    },
  };
}

/** Anything that is not a refusal of ours is a fault of ours: the caller learns nothing of it, the log everything. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (isUnreadableMediaType(error)) {
    return new ServiceError('UnsupportedMediaType', 'The Content-Type of the body is not a media type.', {
      cause: error,
    });
  }
  return new ServiceError('Internal', 'The service failed to answer this request.', { cause: error });
}

/** The framework reads the media type before any handler runs, and refuses by itself what it cannot read. */
function isUnreadableMediaType(error: unknown): boolean {
  return error instanceof Error && 'statusCode' in error && error.statusCode === 415;
}

function errorHeaders(error: ServiceError, status: number): Record<string, string> {
  const headers: Record<string, string> = {};
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="tiltyard", ApiKey realm="tiltyard"';
  if (error.row.retryable) headers['retry-after'] = String(error.retryAfterSeconds ?? 1);
  return headers;
}
