import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../../errors/service-error.ts';
import { storeCredentialsMissing, storeRefused, storeRefusedBy, storeUnreachable } from '../object-store.ts';
import { findText } from './xml.ts';

export interface StoreRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export interface StoreReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
  /** An earlier attempt got no reply, or a faulty one, and may have been executed. */
  readonly isRepeated: boolean;
}

/** Returns the headers of a signed request. Called for each attempt, because signatures and tokens expire. */
export type Sign = (request: StoreRequest) => Promise<Readonly<Record<string, string>>>;

export interface HttpSettings {
  /** For one attempt, including its reply. */
  readonly requestSeconds: number;
  readonly requestAttemptsMax: number;
}

/** The manifests of the largest tables are up to this size; all other objects that are read are smaller. */
const REPLY_BYTES_MAX = 256 * 2 ** 20;

/** Sends signed requests to a store, and retries them after transient faults. */
export class StoreHttp {
  readonly #sign: Sign;
  readonly #settings: HttpSettings;

  constructor(sign: Sign, settings: HttpSettings) {
    this.#sign = sign;
    this.#settings = settings;
  }

  /** Returns a reply with an expected status; throws for any other. */
  async send(request: StoreRequest, expected: readonly number[]): Promise<StoreReply> {
    const { requestAttemptsMax } = this.#settings;
    let fault: unknown;
    for (let attempt = 0; attempt < requestAttemptsMax; attempt += 1) {
      if (attempt > 0) await sleep(choosePause(attempt));
      try {
        const reply = await this.#exchange(request, attempt > 0);
        if (expected.includes(reply.status)) return reply;
        if (!isTransient(reply.status)) throw toRefusal(request, reply);
        fault = new Error(`${request.method} ${pathOf(request)}: ${describe(reply)}`);
      } catch (error) {
        if (!isNetworkFault(error instanceof ServiceError ? error.cause : error)) throw error;
        fault = error;
      }
    }
    throw fault instanceof ServiceError ? fault : storeUnreachable(fault);
  }

  async #exchange(request: StoreRequest, isRepeated: boolean): Promise<StoreReply> {
    const headers = await this.#signed(request);
    const response = await fetch(request.url, {
      method: request.method,
      headers: { ...headers },
      body: request.body ?? null,
      // A signature is valid for one address only.
      redirect: 'manual',
      signal: AbortSignal.timeout(this.#settings.requestSeconds * 1000),
    });
    return { status: response.status, headers: response.headers, body: await readBody(response), isRepeated };
  }

  async #signed(request: StoreRequest): Promise<Readonly<Record<string, string>>> {
    try {
      return await this.#sign(request);
    } catch (error) {
      throw error instanceof ServiceError ? error : storeCredentialsMissing(error);
    }
  }
}

/** For a reply whose status is not expected, or says less than its code. */
export function toRefusal(request: StoreRequest, reply: StoreReply): ServiceError {
  return storeRefusedBy(reply.status, findCode(reply), `${request.method} ${pathOf(request)}`);
}

/** Replies to HEAD have no body; Azure has a header for them. */
export function findCode({ headers, body }: StoreReply): string | undefined {
  return findText(body.toString('utf8'), 'Code') ?? headers.get('x-ms-error-code') ?? undefined;
}

async function readBody(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // A body of `fetch` yields bytes.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > REPLY_BYTES_MAX) throw storeRefused(`a reply has more than ${REPLY_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** 409: S3 and Azure, if two conditional writes of one key overlap. Callers that expect 409 do not get here. */
function isTransient(status: number): boolean {
  return status >= 500 || status === 429 || status === 408 || status === 409;
}

/**
 * `fetch` reports network faults as a TypeError, a broken body as a TypeError or with a code, and a timeout by name.
 */
function isNetworkFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error instanceof TypeError || error.name === 'TimeoutError' || 'code' in error;
}

const PAUSE_MILLISECONDS_MIN = 50;
const PAUSE_MILLISECONDS_MAX = 2000;

/** Half of the pause is random, so that clients that failed together do not retry together. */
function choosePause(attempt: number): number {
  const pause = Math.min(PAUSE_MILLISECONDS_MAX, PAUSE_MILLISECONDS_MIN * 2 ** attempt);
  return pause * (0.5 + Math.random() / 2);
}

function describe(reply: StoreReply): string {
  const code = findCode(reply);
  return `status ${reply.status}${code === undefined ? '' : ` (${code})`}`;
}

/** For the log: without the query, which may contain a credential. */
function pathOf({ url }: StoreRequest): string {
  return url.split('?')[0] ?? '';
}

/** As signatures require, escapes everything but unreserved characters (RFC 3986, section 2.3). */
export function encodeUri(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

export function encodeKey(key: string): string {
  return key.split('/').map(encodeUri).join('/');
}

/** In the parameter order that signatures require. */
export function encodeQuery(parameters: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(parameters).map(([name, value]) => `${encodeUri(name)}=${encodeUri(value)}`);
  return pairs.length === 0 ? '' : `?${pairs.toSorted().join('&')}`;
}
