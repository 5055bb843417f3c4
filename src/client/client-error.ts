import type { ErrorBody } from '../wire/shapes.ts';

/** The server refused. `message` says what was wrong, `hint` what would be right. */
export class ClientError extends Error {
  readonly status: number;
  /** The number that Lance clients read; `undefined` when a proxy replied. */
  readonly code: number | undefined;
  readonly title: string;
  /** Both sentences, as the server joins them. */
  readonly detail: string;
  readonly hint: string | undefined;
  readonly requestId: string | undefined;
  /** Present when the same request may succeed later. */
  readonly retryAfterSeconds: number | undefined;

  constructor({ status, headers }: Response, body: Partial<ErrorBody>) {
    const message = body.error || body.detail || `The server responded with status ${status}.`;
    super(message);
    this.name = 'ClientError';
    this.status = status;
    this.code = body.code;
    this.title = body.title ?? `Status ${status}`;
    this.detail = body.detail || message;
    this.hint = (this.detail.startsWith(message) && this.detail.slice(message.length).trim()) || undefined;
    this.requestId = headers.get('x-request-id') ?? undefined;
    const retryAfter = Number(headers.get('retry-after') ?? Number.NaN);
    this.retryAfterSeconds = Number.isFinite(retryAfter) ? retryAfter : undefined;
  }
}

/** There was no reply: nothing listens, the host is unknown, the connection broke, or it took too long. */
export class ConnectionError extends Error {
  readonly url: string;
  /** The code of the system, such as `ECONNREFUSED`. */
  readonly code: string | undefined;

  constructor(url: string, cause: unknown) {
    const causes = causesOf(cause);
    const code = causes
      .map((each) => ('code' in each ? each.code : undefined))
      .find((each) => typeof each === 'string');
    const reason = (code && REASONS[code]) ?? causes.at(-1)?.message ?? 'the reason is unknown';
    super(`The server at ${url} did not respond: ${reason}.`, { cause });
    this.name = 'ConnectionError';
    this.url = url;
    this.code = code;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing is listening there',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name cannot be resolved',
  ECONNRESET: 'the connection was closed',
  EPIPE: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  ETIMEDOUT: 'the connection took too long',
  UND_ERR_CONNECT_TIMEOUT: 'the connection took too long',
  UND_ERR_HEADERS_TIMEOUT: 'the reply took too long',
  UND_ERR_BODY_TIMEOUT: 'the reply stopped arriving',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted',
};

const CAUSES_MAX = 4;

/** `fetch` wraps the error of the system, once or twice. */
function causesOf(error: unknown): readonly Error[] {
  const found: Error[] = [];
  for (let each = error; each instanceof Error && found.length < CAUSES_MAX; each = each.cause) found.push(each);
  return found;
}

/**
 * Where the server found an error in a SQL text, as its message says: in which text, such as `filter` or
 * `updates[0] expression`, and at which character, counted from 1 as people see them.
 */
export function findSqlPosition(message: string) {
  const [, text, character] = /^In (.+?) at character (\d+)[,:]/.exec(message) ?? [];
  return text === undefined ? undefined : { text, character: Number(character) };
}
