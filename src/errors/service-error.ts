interface ServiceErrorOptions {
  /** A second sentence for the caller: what would be right. */
  readonly hint?: string | undefined;
  /** For the log only: never leaves the process. */
  readonly cause?: unknown;
  readonly retryAfterSeconds?: number | undefined;
  /** The request may have been applied. */
  readonly outcome?: 'unknown';
  /** The request was refused before it changed anything, which a 5xx alone does not say. */
  readonly changedNothing?: boolean;
}

/** The only error that callers see. `message` is public: one sentence that says what was wrong. `cause` is private. */
export class ServiceError extends Error {
  readonly kind: ErrorName;
  readonly hint: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly outcome: 'unknown' | undefined;
  readonly changedNothing: boolean;

  constructor(kind: ErrorName, message: string, options: ServiceErrorOptions = {}) {
    const { hint, cause, retryAfterSeconds, outcome, changedNothing = false } = options;
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ServiceError';
    this.kind = kind;
    this.hint = hint;
    this.retryAfterSeconds = retryAfterSeconds;
    this.outcome = outcome;
    this.changedNothing = changedNothing;
  }

  get traits(): (typeof ERROR_KINDS)[ErrorName] {
    return ERROR_KINDS[this.kind];
  }

  get detail(): string {
    return this.hint === undefined ? this.message : `${this.message} ${this.hint}`;
  }
}

/**
 * Another node writes to the table. The call that throws this changed nothing; earlier commits are up to the new owner.
 */
export class NotOwner extends ServiceError {
  constructor(message = 'Another node now owns the table.') {
    super('ConcurrentModification', message, {
      hint: 'Send the request again.',
      retryAfterSeconds: 1,
    });
  }
}

/** Work that ended its process as often as that is not repeated: it may be the reason, and would end the next process too. */
export class GivenUp extends ServiceError {
  constructor(attempts: number) {
    const times = attempts === 1 ? 'once' : `${attempts} times`;
    super('Internal', `The server process ended ${times} while this job ran, so the server does not repeat it.`, {
      hint:
        'The job may need more memory than the server has, or hit a fault of the engine: see the log. What it has ' +
        'committed stays. To try again, send a new request for it.',
    });
  }
}

export function invalidInput(message: string, hint?: string, cause?: unknown): ServiceError {
  return new ServiceError('InvalidInput', message, { hint, cause });
}

/** `code` is the number that Lance clients read; `retryable` means that the same request may succeed later. */
export const ERROR_KINDS = {
  Unsupported: { code: 0, status: 406, retryable: false },
  NamespaceNotFound: { code: 1, status: 404, retryable: false },
  NamespaceAlreadyExists: { code: 2, status: 409, retryable: false },
  NamespaceNotEmpty: { code: 3, status: 409, retryable: false },
  TableNotFound: { code: 4, status: 404, retryable: false },
  TableAlreadyExists: { code: 5, status: 409, retryable: false },
  TableIndexNotFound: { code: 6, status: 404, retryable: false },
  TableIndexAlreadyExists: { code: 7, status: 409, retryable: false },
  TableTagNotFound: { code: 8, status: 404, retryable: false },
  TableTagAlreadyExists: { code: 9, status: 409, retryable: false },
  TransactionNotFound: { code: 10, status: 404, retryable: false },
  TableVersionNotFound: { code: 11, status: 404, retryable: false },
  TableColumnNotFound: { code: 12, status: 404, retryable: false },
  InvalidInput: { code: 13, status: 400, retryable: false },
  ConcurrentModification: { code: 14, status: 503, retryable: true },
  PermissionDenied: { code: 15, status: 403, retryable: false },
  Unauthenticated: { code: 16, status: 401, retryable: false },
  ServiceUnavailable: { code: 17, status: 503, retryable: true },
  Internal: { code: 18, status: 500, retryable: false },
  InvalidTableState: { code: 19, status: 409, retryable: false },
  TableSchemaValidationError: { code: 20, status: 400, retryable: false },
  Throttling: { code: 21, status: 503, retryable: true },
  TableBranchNotFound: { code: 22, status: 404, retryable: false },
  TableBranchAlreadyExists: { code: 23, status: 409, retryable: false },
  TableVersionAlreadyExists: { code: 14, status: 409, retryable: false },
  InvalidTransactionState: { code: 14, status: 409, retryable: false },
  DatabaseNotFound: { code: 1, status: 404, retryable: false },
  DatabaseAlreadyExists: { code: 2, status: 409, retryable: false },
  DatabaseNotEmpty: { code: 3, status: 409, retryable: false },
  CredentialNotFound: { code: 13, status: 404, retryable: false },
  GrantNotFound: { code: 13, status: 404, retryable: false },
  WebhookNotFound: { code: 13, status: 404, retryable: false },
  QuotaNotFound: { code: 13, status: 404, retryable: false },
  QuotaExceeded: { code: 15, status: 403, retryable: false },
  LastAdministrator: { code: 13, status: 409, retryable: false },
  RouteNotFound: { code: 13, status: 404, retryable: false },
  MethodNotAllowed: { code: 13, status: 405, retryable: false },
  NotAcceptable: { code: 13, status: 406, retryable: false },
  RequestTimeout: { code: 13, status: 408, retryable: true },
  PreconditionFailed: { code: 13, status: 412, retryable: false },
  PayloadTooLarge: { code: 13, status: 413, retryable: false },
  UnsupportedMediaType: { code: 13, status: 415, retryable: false },
  HeadersTooLarge: { code: 13, status: 431, retryable: false },
} as const;

export type ErrorName = keyof typeof ERROR_KINDS;
export type ErrorStatus = (typeof ERROR_KINDS)[ErrorName]['status'];

/** `type` and `title` depend only on the HTTP status; they use the wording of the contract where it has any. */
export const STATUS_TEXTS: Readonly<Record<ErrorStatus, { readonly type: string; readonly title: string }>> = {
  400: { type: '/errors/bad-request', title: 'Malformed request' },
  401: { type: '/errors/unauthorized-request', title: 'No valid authentication credentials for the operation' },
  403: { type: '/errors/forbidden-request', title: 'Not authorized to make this request' },
  404: { type: '/errors/not-found-error', title: 'Not found Error' },
  405: { type: '/errors/method-not-allowed', title: 'Method not allowed' },
  406: { type: '/errors/unsupported-operation', title: 'Not offered by this deployment' },
  408: { type: '/errors/request-timeout', title: 'The request took too long to arrive' },
  409: { type: '/errors/conflict', title: 'The namespace has been concurrently modified' },
  412: { type: '/errors/precondition-failed', title: 'The table has another version' },
  413: { type: '/errors/payload-too-large', title: 'The body is too large' },
  415: { type: '/errors/unsupported-media-type', title: 'Unsupported media type' },
  431: { type: '/errors/headers-too-large', title: 'The headers are too large' },
  500: { type: '/errors/server-error', title: 'Internal Server Error' },
  503: { type: '/errors/service-unavailable', title: 'Slow down' },
};

/** Another node has a copy of this node's data folder; or it is the previous process, at another address. */
export class CopiedFolder extends ServiceError {
  constructor(where: string) {
    super('ServiceUnavailable', `Another node has the same node.id in its data folder: ${where}.`, {
      hint: 'Each node needs its own data folder. In the folder that was copied, delete the file node.id.',
    });
  }
}
