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
  /** Timeout for the first byte of a reply; it does not limit uploads. */
  readonly answerSecondsMax?: number | undefined;
  readonly fetch?: typeof fetch | undefined;
}

type QueryValue = string | number | boolean | readonly string[] | undefined;

/** A request; without `json` and `bytes` it is a GET. */
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
 * The server's API over `fetch`, in Node and in browsers. `json` is for JSON replies, `open` for replies that are read as
 * they arrive. Both throw a `ClientError` for a refusal, and a `ConnectionError` when there was no reply.
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
    const text = await this.text(path, { accept: 'application/json', ...call });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Callers name the shape that the server gives to a successful reply of the operation.
    return (text === '' ? undefined : JSON.parse(text)) as Reply;
  }

  async text(path: string, call: Call = {}): Promise<string> {
    const response = await this.open(path, call);
    return this.#read(response);
  }

  /** The reply to a call that succeeded, with its body still to be read. */
  async open(path: string, call: Call = {}): Promise<Response> {
    const response = await this.#fetch(`${this.url}${path}${queryText(call.query)}`, call);
    if (!response.ok) throw await this.#refusal(response);
    return response;
  }

  /** The body of a reply as it arrives. */
  async *bytes({ body }: Response): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of body ?? []) yield piece;
    } catch (error) {
      throw new ConnectionError(this.url, error);
    }
  }

  async #fetch(url: string, call: Call): Promise<Response> {
    const { answerSecondsMax = ANSWER_SECONDS_MAX } = this.#options;
    const timeout = startTimeout(call.bytes === undefined ? answerSecondsMax : undefined, call.signal);
    try {
      const send = this.#options.fetch ?? fetch;
      return await send(url, {
        ...requestOf(call),
        headers: { ...this.#headers(call), ...call.headers },
        // A redirect could send the key to another host.
        redirect: 'error',
        signal: timeout.signal,
      });
    } catch (error) {
      call.signal?.throwIfAborted();
      throw new ConnectionError(this.url, error);
    } finally {
      timeout.clear();
    }
  }

  async #read(response: Response): Promise<string> {
    try {
      return await response.text();
    } catch (error) {
      throw new ConnectionError(this.url, error);
    }
  }

  async #refusal(response: Response): Promise<ClientError> {
    const body = readErrorBody(await this.#read(response));
    const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
    return new ClientError({
      status: response.status,
      body,
      requestId: response.headers.get('x-request-id') ?? undefined,
      retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : undefined,
    });
  }

  #headers({ accept, json, bytes, contentType }: Call): Record<string, string> {
    const { key, token, database } = this.#options;
    const jsonType = json === undefined ? undefined : 'application/json';
    return defined({
      'x-api-key': key,
      authorization: token === undefined ? undefined : `Bearer ${token}`,
      'x-service-database': database,
      accept,
      'content-type': bytes === undefined ? jsonType : (contentType ?? ARROW_STREAM),
    });
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

/** Cleared when the reply begins, unlike `AbortSignal.timeout`: the body may take as long as its reader needs. */
function startTimeout(seconds: number | undefined, outer: AbortSignal | undefined) {
  const late = new AbortController();
  const abort = (): void => late.abort(new Error(`the answer took longer than ${seconds} s`));
  const timer = seconds === undefined ? undefined : setTimeout(abort, seconds * 1000);
  return {
    signal: outer === undefined ? late.signal : AbortSignal.any([late.signal, outer]),
    clear: () => clearTimeout(timer),
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

/** Streams are sent as they come; browsers support that only over HTTP/2, so the console sends blobs. */
function toRequestBody(bytes: BytesToSend): RequestInit & { readonly duplex?: 'half' } {
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

type Defined<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/** The fields that have a value: an optional field of a request may be absent, but not `undefined`. */
export function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The same fields without those that are undefined.
  return Object.fromEntries(present) as Defined<Fields>;
}
