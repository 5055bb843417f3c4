import { invalidInput } from '../errors/service-error.ts';
import { quoteForMessage } from '../model/identifier.ts';
import { isObject, parseJson } from '../model/strict-json.ts';
import type { ErrorBody } from '../wire/shapes.ts';
import { ClientError, ConnectionError } from './client-error.ts';

export const ARROW_STREAM = 'application/vnd.apache.arrow.stream';
export const ARROW_FILE = 'application/vnd.apache.arrow.file';
export const NDJSON = 'application/x-ndjson';

export interface ClientOptions {
  /** The address of the server, including its base path, such as `http://127.0.0.1:2333`. */
  readonly url: string;
  readonly key?: string | undefined;
  /** An access token, instead of a key. */
  readonly token?: string | undefined;
  /** The default database if absent. */
  readonly database?: string | undefined;
  /** Timeout for the first byte of a reply; it does not limit uploads. */
  readonly answerSecondsMax?: number | undefined;
  readonly fetch?: typeof fetch | undefined;
}

/** A stream is sent as it is produced; browsers support that only over HTTP/2, so the console sends blobs. */
export type BytesToSend = Uint8Array | Blob | ReadableStream<Uint8Array>;

/** A request; without `json` and `bytes` it is a GET. */
export interface Call {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  readonly json?: unknown;
  readonly bytes?: BytesToSend | undefined;
  /** The type of `bytes`; an Arrow stream if absent. */
  readonly contentType?: string | undefined;
  readonly accept?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

const ANSWER_SECONDS_MAX = 300;

/** Calls whose replies are JSON. */
export type JsonClient = Pick<ApiClient, 'json'>;

/**
 * The server's API over `fetch`, in Node and browsers. `json` is for JSON replies, `open` for replies that are read as
 * they arrive. Both throw a `ClientError` for a refusal, and a `ConnectionError` if there was no reply.
 */
export class ApiClient {
  readonly url: string;
  readonly database: string | undefined;
  readonly credential: 'key' | 'token';
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.url = options.url.replace(/\/+$/, '');
    this.database = options.database;
    this.credential = options.token === undefined ? 'key' : 'token';
    this.#options = options;
  }

  /** The same server and credential for another database. */
  withDatabase(database: string | undefined): ApiClient {
    return new ApiClient({ ...this.#options, database });
  }

  async json<Reply>(path: string, call: Call = {}): Promise<Reply> {
    const response = await this.open(path, { accept: 'application/json', ...call });
    const text = await this.#read(response);
    try {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Callers name the shape that the server gives to a successful reply of the operation.
      return (text === '' ? undefined : JSON.parse(text)) as Reply;
    } catch {
      throw this.#notTiltyard(response);
    }
  }

  async text(path: string, call: Call = {}): Promise<string> {
    return this.#read(await this.open(path, call));
  }

  /** The reply to a successful call; its body is still to be read. */
  async open(path: string, call: Call = {}): Promise<Response> {
    const response = await this.#fetch(`${this.url}${withQuery(path, call.query)}`, call);
    if (!response.ok) throw new ClientError(response, readErrorBody(await this.#read(response)));
    if (response.headers.get('content-type')?.startsWith('text/html')) throw this.#notTiltyard(response);
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
    const { answerSecondsMax: seconds = ANSWER_SECONDS_MAX, fetch: send = fetch } = this.#options;
    const headers = { ...this.#headers(call), ...call.headers };
    const late = new AbortController();
    const abort = (): void => late.abort(new Error(`there was no reply within ${seconds} s`));
    // Cleared when the reply begins, unlike `AbortSignal.timeout`: the body may take as long as its reader needs.
    const timer = call.bytes === undefined ? setTimeout(abort, seconds * 1000) : undefined;
    try {
      return await send(url, {
        ...requestOf(call),
        headers,
        // A redirect could send the key to another host.
        redirect: 'error',
        signal: call.signal === undefined ? late.signal : AbortSignal.any([late.signal, call.signal]),
      });
    } catch (error) {
      call.signal?.throwIfAborted();
      throw new ConnectionError(this.url, error);
    } finally {
      clearTimeout(timer);
    }
  }

  #notTiltyard(response: Response): ClientError {
    const error = `${this.url} is not the address of a Tiltyard server: its reply is a web page or other text.`;
    const hint = 'Give the address of the server, with its base path if it has one.';
    return new ClientError(response, { error, detail: `${error} ${hint}` });
  }

  async #read(response: Response): Promise<string> {
    try {
      return await response.text();
    } catch (error) {
      throw new ConnectionError(this.url, error);
    }
  }

  #headers({ accept, json, bytes, contentType }: Call): Record<string, string> {
    const { key, token, database } = this.#options;
    const jsonType = json === undefined ? undefined : 'application/json';
    return defined({
      'x-api-key': key,
      authorization: token === undefined ? undefined : `Bearer ${token}`,
      'x-service-database': database === undefined ? undefined : toHeaderText(database),
      accept,
      'content-type': bytes === undefined ? jsonType : (contentType ?? ARROW_STREAM),
    });
  }
}

/** Headers are bytes, so the name is sent as UTF-8. Spaces at its ends would be lost. */
function toHeaderText(name: string): string {
  if (/^ | $|[\p{Cc}\p{Cs}]/u.test(name)) {
    const hint = 'It must not have control characters, and not begin or end with a space.';
    throw invalidInput(`The database name ${quoteForMessage(name)} cannot be sent.`, hint);
  }
  return String.fromCharCode(...new TextEncoder().encode(name));
}

function requestOf({ json, bytes }: Call): RequestInit & { readonly duplex?: 'half' } {
  const method = 'POST';
  if (bytes instanceof ReadableStream) return { method, body: bytes, duplex: 'half' };
  if (bytes instanceof Blob) return { method, body: bytes };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Shared memory, which the type leaves open, is never sent.
  if (bytes !== undefined) return { method, body: bytes as Uint8Array<ArrayBuffer> };
  return json === undefined ? { method: 'GET' } : { method, body: JSON.stringify(json) };
}

function withQuery(path: string, query: Call['query'] = {}): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) pairs.append(name, String(value));
  return pairs.size === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${pairs.toString()}`;
}

function readErrorBody(text: string): Partial<ErrorBody> {
  const body = parseJson(text);
  return isObject(body) ? body : {};
}

type Defined<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/** Only the fields with a value: an optional field of a request may be absent, but not `undefined`. */
export function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The same fields without those that are undefined.
  return Object.fromEntries(present) as Defined<Fields>;
}
