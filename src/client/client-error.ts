import type { ErrorBody } from '../wire/shapes.ts';

/** The server refused. `message` says what was wrong, `hint` what would be right. */
export class ClientError extends Error {
  readonly status: number;
  /** The number that Lance clients read; `undefined` if a proxy replied. */
  readonly code: number | undefined;
  readonly title: string;
  /** Both sentences, joined by the server. */
  readonly detail: string;
  readonly hint: string | undefined;
  readonly requestId: string | undefined;
  /** Present if the same request may succeed later. */
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

/** There was no reply: nothing listens, the host is unknown, the connection broke, or it timed out. */
export class ConnectionError extends Error {
  readonly url: string;
  /** The system's error code, such as `ECONNREFUSED`. */
  readonly code: string | undefined;
  /** What to do, if starting the server would not help. */
  readonly hint: string | undefined;

  constructor(url: string, cause: unknown) {
    const causes = causesOf(cause);
    const code = causes
      .map((each) => ('code' in each ? each.code : undefined))
      .find((each) => typeof each === 'string');
    const reason = code === undefined ? undefined : REASONS[code];
    const text = reason?.text ?? causes.at(-1)?.message ?? 'the reason is unknown';
    super(`The server at ${url} did not respond: ${text}.`, { cause });
    this.name = 'ConnectionError';
    this.url = url;
    this.code = code;
    this.hint = reason?.hint;
  }
}

interface Reason {
  readonly text: string;
  readonly hint?: string;
}

const CLOSED: Reason = {
  text: 'the connection was closed',
  hint: 'Try again. If the server uses TLS, its address begins with https://.',
};
const UNTRUSTED: Reason = {
  text: 'its certificate is not trusted',
  hint: 'To trust it, set the environment variable NODE_EXTRA_CA_CERTS to a file with the certificate of its authority.',
};
const NO_TLS: Reason = {
  text: 'it does not speak TLS',
  hint: 'Give its address with http:// in place of https://.',
};

const REASONS: Readonly<Record<string, Reason>> = {
  ECONNREFUSED: { text: 'nothing is listening there' },
  ENOTFOUND: { text: 'the host name is unknown' },
  EAI_AGAIN: { text: 'the host name cannot be resolved' },
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  UND_ERR_SOCKET: CLOSED,
  ETIMEDOUT: { text: 'the connection took too long' },
  UND_ERR_CONNECT_TIMEOUT: { text: 'the connection took too long' },
  UND_ERR_HEADERS_TIMEOUT: { text: 'the reply took too long' },
  UND_ERR_BODY_TIMEOUT: { text: 'the reply stopped arriving' },
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  CERT_HAS_EXPIRED: { text: 'its certificate has expired', hint: 'Renew it on the server.' },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    text: 'its certificate is for another host',
    hint: 'Give its address with a host name of its certificate.',
  },
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
};

const CAUSES_MAX = 4;

/** `fetch` wraps the system error, once or twice. */
function causesOf(error: unknown): readonly Error[] {
  const found: Error[] = [];
  for (let each = error; each instanceof Error && found.length < CAUSES_MAX; each = each.cause) found.push(each);
  return found;
}

/**
 * Where the server found an error in an SQL text, according to its message: in which text, such as `filter` or
 * `updates[0] expression`, and at which character, counted from 1.
 */
export function findSqlPosition(message: string) {
  const [, text, character] = /^In (.+?) at character (\d+)[,:]/.exec(message) ?? [];
  return text === undefined ? undefined : { text, character: Number(character) };
}
