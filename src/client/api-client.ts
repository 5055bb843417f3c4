import type { ErrorBody } from '../wire/shapes.ts';
import { ClientError, ConnectionError } from './client-error.ts';

export const ARROW_STREAM = 'application/vnd.apache.arrow.stream';
export const ARROW_FILE = 'application/vnd.apache.arrow.file';
export const NDJSON = 'application/x-ndjson';

export interface ClientOptions {
  /** Address of the server, with its base path, such as `http://127.0.0.1:2333`. */
  readonly url: string;
  readonly key?: string | undefined;
  /** An access token, in place of a key. */
  readonly token?: string | undefined;
  /** The default database when absent. */
  readonly database?: string | undefined;
  /** Longest wait for the first byte of an answer; uploads may take longer. */
  readonly answerSecondsMax?: number | undefined;
  readonly fetch?: typeof fetch | undefined;
}

type QueryValue = string | number | boolean | readonly string[] | undefined;

/** What is sent; without `json` and `bytes` it is a GET. */
export interface Call {
  readonly query?: Readonly<Record<string, QueryValue>> | undefined;
  readonly json?: unknown;
  readonly bytes?: BytesToSend | undefined;
  /** Of `bytes`; an Arrow stream when absent. */
  readonly contentType?: string | undefined;
  readonly accept?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

const ANSWER_SECONDS_MAX = 300;

/**
 * The server's API over `fetch`, in Node and in browsers. `json` for calls with a JSON reply, `open` for replies that are
 * read as they come. Both throw a `ClientError` for a refusal, and a `ConnectionError` when no answer came.
 */
export class ApiClient {
  readonly url: string;
  readonly database: string | undefined;
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.url = options.url.replace(/\/+$/, '');
    this.database = options.database;
    this.#options = options;
  }

  /** The same server and credential for another database. */
  withDatabase(database: string | undefined): ApiClient {
    return new ApiClient({ ...this.#options, database });
  }

  async json<Reply>(path: string, call: Call = {}): Promise<Reply> {
    const response = await this.open(path, { accept: 'application/json', ...call });
    const text = await this.#read(async () => response.text());
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The server's shapes are the types that callers name; the reply of a success is of the operation's shape.
    return (text === '' ? undefined : JSON.parse(text)) as Reply;
  }

  async text(path: string, call: Call = {}): Promise<string> {
    const response = await this.open(path, call);
    return this.#read(async () => response.text());
  }

  /** The answer to a call that succeeded, with its body still to be read. */
  async open(path: string, call: Call = {}): Promise<Response> {
    const response = await this.#fetch(`${this.url}${path}${queryText(call.query)}`, call);
    if (!response.ok) throw await this.#refusal(response);
    return response;
  }

  async #fetch(url: string, call: Call): Promise<Response> {
    const wait = waitAtMost(call.bytes === undefined ? this.#answerSeconds() : undefined, call.signal);
    try {
      const send = this.#options.fetch ?? fetch;
      return await send(url, {
        ...requestOf(call),
        headers: { ...this.#headers(call), ...call.headers },
        // A key must not follow a redirect to whoever is named there.
        redirect: 'error',
        signal: wait.signal,
      });
    } catch (error) {
      call.signal?.throwIfAborted();
      throw new ConnectionError(this.url, error);
    } finally {
      wait.end();
    }
  }

  async #read<Value>(work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      throw new ConnectionError(this.url, error);
    }
  }

  async #refusal(response: Response): Promise<ClientError> {
    const text = await this.#read(async () => response.text());
    const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
    return new ClientError({
      status: response.status,
      body: readErrorBody(text),
      requestId: response.headers.get('x-request-id') ?? undefined,
      retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : undefined,
    });
  }

  #answerSeconds(): number {
    return this.#options.answerSecondsMax ?? ANSWER_SECONDS_MAX;
  }

  #headers({ accept, json, bytes, contentType }: Call): Record<string, string> {
    const { key, token, database } = this.#options;
    return {
      ...(key === undefined ? {} : { 'x-api-key': key }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(database === undefined ? {} : { 'x-service-database': database }),
      ...(accept === undefined ? {} : { accept }),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...(bytes === undefined ? {} : { 'content-type': contentType ?? ARROW_STREAM }),
    };
  }
}

function requestOf({ json, bytes }: Call): RequestInit {
  if (bytes !== undefined) return { method: 'POST', ...toRequestBody(bytes) };
  return json === undefined ? { method: 'GET' } : { method: 'POST', body: JSON.stringify(json) };
}

function queryText(query: Call['query']): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined) continue;
    for (const each of Array.isArray(value) ? value : [value]) pairs.append(name, String(each));
  }
  return pairs.size === 0 ? '' : `?${pairs.toString()}`;
}

interface Wait {
  readonly signal: AbortSignal;
  readonly end: () => void;
}

/** Ends when the answer has begun: how long the rest takes is the reader's business. */
function waitAtMost(seconds: number | undefined, outer: AbortSignal | undefined): Wait {
  const late = new AbortController();
  const timer =
    seconds === undefined
      ? undefined
      : setTimeout(() => late.abort(new Error(`the answer took longer than ${seconds} s`)), seconds * 1000);
  return {
    signal: outer === undefined ? late.signal : AbortSignal.any([late.signal, outer]),
    end: () => clearTimeout(timer),
  };
}

function readErrorBody(text: string): Partial<ErrorBody> {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? body : {};
  } catch {
    return {};
  }
}

export type BytesToSend = Uint8Array | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** As `fetch` takes it. Streams are sent as they come; browsers can do that over HTTP/2 alone, so they send blobs. */
export function toRequestBody(bytes: BytesToSend): RequestInit & { readonly duplex?: 'half' } {
  if (bytes instanceof Blob) return { body: bytes };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Shared memory, which the type leaves open, is never sent.
  if (bytes instanceof Uint8Array) return { body: bytes as Uint8Array<ArrayBuffer> };
  return { body: bytes instanceof ReadableStream ? bytes : toStream(bytes), duplex: 'half' };
}

function toStream(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
