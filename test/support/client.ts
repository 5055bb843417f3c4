import assert from 'node:assert/strict';
import { ADMIN_KEY } from './server.ts';

export interface ClientOptions {
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; `undefined` when it is not JSON. */
  readonly json: any;
}

/** Plain `fetch`, as a user would write it. */
export class Client {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, options: ClientOptions = {}) {
    this.#url = url;
    const key = 'key' in options ? options.key : ADMIN_KEY;
    this.#headers = { ...(key === undefined ? {} : { 'x-api-key': key }), ...options.headers };
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send('GET', path, { headers });
  }

  async post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return this.send('POST', path, { headers: { 'content-type': 'application/json', ...headers }, body: text });
  }

  async arrow(path: string, body: Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const type = { 'content-type': 'application/vnd.apache.arrow.stream' };
    return this.send('POST', path, { headers: { ...type, ...headers }, body });
  }

  async send(method: string, path: string, init: RequestInit): Promise<Answer> {
    const headers = { ...this.#headers, ...(init.headers as Record<string, string> | undefined) };
    const response = await fetch(`${this.#url}${path}`, { ...init, method, headers });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parseJson(text) };
  }
}

/** The body of a success. */
export function ok({ status, text, json }: Answer, expected = 200): any {
  assert.equal(status, expected, text);
  return json;
}

export function parseJson(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
