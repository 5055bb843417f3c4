import { Agent, request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LeakScanner } from './leak-scanner.ts';

export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** Uses a new connection, like a new client. */
  readonly isFresh?: boolean;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  /** The parsed body; `undefined` if it is not JSON. */
  readonly json: any;
  readonly milliseconds: number;
}

export const ARROW_STREAM = 'application/vnd.apache.arrow.stream';

const TRIES_MAX = 60;
const PAUSE_MILLISECONDS = 250;

/** A plain client over `node:http`, which passes every reply to the leak scanner. */
export class HttpClient {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #scanner: LeakScanner;
  readonly #millisecondsMax: number | undefined;
  #triesMax = 1;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Infinity });

  /** After `millisecondsMax` without a reply, the client gives up and closes the connection. */
  constructor(url: string, scanner: LeakScanner, headers: Readonly<Record<string, string>>, millisecondsMax?: number) {
    this.#url = url;
    this.#scanner = scanner;
    this.#headers = headers;
    this.#millisecondsMax = millisecondsMax;
  }

  /** The same server with other headers. */
  as(headers: Readonly<Record<string, string>>): HttpClient {
    return new HttpClient(this.#url, this.#scanner, headers, this.#millisecondsMax);
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return this.send(path, { method: 'GET', headers });
  }

  async post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return this.send(path, { headers: { 'content-type': 'application/json', ...headers }, body: text });
  }

  async arrow(path: string, body: Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return this.send(path, { headers: { 'content-type': ARROW_STREAM, ...headers }, body });
  }

  /** Retries if there is currently no capacity, which is not an error on a busy machine. */
  patient(): HttpClient {
    const client = this.as(this.#headers);
    client.#triesMax = TRIES_MAX;
    return client;
  }

  async send(path: string, sent: Sent): Promise<Reply> {
    for (let tries = 1; ; tries += 1) {
      const reply = await this.#sendOnce(path, sent);
      // Without a key, what may have been applied is not sent again.
      const isKnown = reply.json?.outcome === undefined;
      const isFull = reply.status === 503 && reply.headers['retry-after'] !== undefined && isKnown;
      if (!isFull || tries >= this.#triesMax) return reply;
      await sleep(PAUSE_MILLISECONDS);
    }
  }

  /** Rejects if the connection broke before the whole reply arrived. */
  async #sendOnce(path: string, sent: Sent): Promise<Reply> {
    const startedAt = performance.now();
    const reply = await new Promise<Omit<Reply, 'text' | 'json' | 'milliseconds'>>((resolve, reject) => {
      const outgoing = request(`${this.#url}${path}`, {
        method: sent.method ?? 'POST',
        headers: { ...this.#headers, ...sent.headers },
        agent: sent.isFresh === true ? false : this.#agent,
      });
      outgoing.once('error', reject);
      if (this.#millisecondsMax !== undefined) {
        const timer = setTimeout(() => outgoing.destroy(new Error('no answer in time')), this.#millisecondsMax);
        outgoing.once('close', () => clearTimeout(timer));
      }
      outgoing.once('response', (incoming) => {
        const pieces: Buffer[] = [];
        const { statusCode: status = 0, headers } = incoming;
        // A stream of events has no end.
        const isLive = headers['content-type'] === 'text/event-stream';
        incoming.on('data', (piece: Buffer) => {
          pieces.push(piece);
          if (!isLive) return;
          resolve({ status, headers, bytes: piece });
          outgoing.destroy();
        });
        incoming.once('error', reject);
        incoming.once('aborted', () => reject(new Error('the reply broke off')));
        incoming.once('end', () => resolve({ status, headers, bytes: Buffer.concat(pieces) }));
      });
      outgoing.end(sent.body);
    });
    const milliseconds = performance.now() - startedAt;
    const isText = !/arrow/.test(reply.headers['content-type'] ?? '');
    const text = isText ? reply.bytes.toString() : '';
    this.#scanner.scanReply(
      `${sent.method ?? 'POST'} ${path} ${reply.status}`,
      reply.headers,
      isText ? text : reply.bytes,
    );
    return { ...reply, text, milliseconds, json: isText ? parse(text) : undefined };
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** `undefined` if no complete reply arrived. */
export async function attempt(reply: Promise<Reply>): Promise<Reply | undefined> {
  try {
    return await reply;
  } catch {
    return undefined;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
