import type { ErrorBody } from '../wire/shapes.ts';

export interface Refusal {
  readonly status: number;
  readonly body: Partial<ErrorBody>;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
}

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

  constructor({ status, body, requestId, retryAfterSeconds }: Refusal) {
    const title = body.title ?? `Status ${status}`;
    const message = firstText(body.error, body.detail, `The server answered with the status ${status}.`);
    super(message);
    this.name = 'ClientError';
    this.status = status;
    this.code = body.code;
    this.title = title;
    this.detail = firstText(body.detail, message);
    this.hint = hintOf(message, this.detail);
    this.requestId = requestId;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** There was no reply: nothing listens, the host is unknown, the connection broke, or it took too long. */
export class ConnectionError extends Error {
  readonly url: string;
  /** The code of the system, such as `ECONNREFUSED`. */
  readonly code: string | undefined;

  constructor(url: string, cause: unknown) {
    const code = findCode(cause);
    super(`The server at ${url} did not answer: ${(code && REASONS[code]) ?? lastMessage(cause)}.`, { cause });
    this.name = 'ConnectionError';
    this.url = url;
    this.code = code;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the name of the host is not known',
  EAI_AGAIN: 'the name of the host cannot be looked up',
  ECONNRESET: 'the connection was closed',
  EPIPE: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  ETIMEDOUT: 'the connection took too long',
  UND_ERR_CONNECT_TIMEOUT: 'the connection took too long',
  UND_ERR_HEADERS_TIMEOUT: 'the answer took too long',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped coming',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by nobody who is trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is signed by nobody who is trusted',
};

/** `fetch` wraps the error of the system, once or twice. */
function findCode(error: unknown): string | undefined {
  const causes = causesOf(error);
  return causes.map((each) => ('code' in each ? each.code : undefined)).find((code) => typeof code === 'string');
}

function lastMessage(error: unknown): string {
  return causesOf(error).at(-1)?.message ?? 'the reason is not known';
}

const CAUSES_MAX = 4;

function causesOf(error: unknown): readonly Error[] {
  const found: Error[] = [];
  for (let each = error; each instanceof Error && found.length < CAUSES_MAX; each = each.cause) found.push(each);
  return found;
}

function hintOf(message: string, detail: string): string | undefined {
  const rest = detail.startsWith(message) ? detail.slice(message.length).trim() : '';
  return rest === '' ? undefined : rest;
}

function firstText(...texts: readonly (string | undefined)[]): string {
  return texts.find((text) => text !== undefined && text !== '') ?? '';
}

/** Where the server found an error in a SQL text. */
export interface SqlPosition {
  /** What the text is, such as `filter`, `predicate` or `updates[0] expression`. */
  readonly text: string;
  /** Counted from 1 in characters as people see them. */
  readonly character: number;
}

/** Read from the message of a refusal; `undefined` when it is about something else. */
export function findSqlPosition(message: string): SqlPosition | undefined {
  const match = /^In (.+?) at character (\d+)[,:]/.exec(message);
  if (match === null) return undefined;
  return { text: match[1] ?? '', character: Number(match[2]) };
}
