import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface RawReply {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

/** A connection on which a test writes every byte itself. */
export class RawConnection {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #isClosed = false;
  #wake: () => void = ignore;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (bytes: Buffer) => {
      this.#received = Buffer.concat([this.#received, bytes]);
      this.#wake();
    });
    socket.on('error', ignore);
    socket.on('close', () => {
      this.#isClosed = true;
      this.#wake();
    });
  }

  static async open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    const connection = new RawConnection(connect(Number(port), hostname));
    await once(connection.socket, 'connect');
    return connection;
  }

  write(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /** The next reply; `interim` ones (100) count too. A reply to HEAD has no body, whatever its length says. */
  async reply({ hasBody = true } = {}): Promise<RawReply> {
    await this.#until(() => this.#received.includes('\r\n\r\n'));
    const end = this.#received.indexOf('\r\n\r\n');
    assert.ok(end >= 0, `no reply: ${this.#received.toString()}`);
    const [line = '', ...fields] = this.#received.subarray(0, end).toString().split('\r\n');
    const headers = new Map(fields.map((field) => [nameOf(field), field.slice(field.indexOf(':') + 1).trim()]));
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(line)?.[1]);
    const length = hasBody && status >= 200 ? Number(headers.get('content-length') ?? 0) : 0;
    await this.#until(() => this.#received.length >= end + 4 + length);
    const text = this.#received.subarray(end + 4, end + 4 + length).toString();
    this.#received = this.#received.subarray(end + 4 + length);
    return { status, headers, text, json: parse(text) };
  }

  /** Waits for the other side to close, and gives what came before that and was not read. */
  async closed(): Promise<string> {
    await this.#until(() => this.#isClosed);
    assert.ok(this.#isClosed, 'the connection is still open');
    return this.#received.toString();
  }

  /** Whether the other side has closed by now. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  close(): void {
    this.socket.destroy();
  }

  async #until(isDone: () => boolean): Promise<void> {
    const stop = new AbortController();
    const deadline = sleep(60_000, undefined, { signal: stop.signal, ref: true }).catch(ignore);
    let isLate = false;
    void deadline.then(() => {
      isLate = true;
      this.#wake();
    });
    while (!isDone() && !this.#isClosed && !isLate) await new Promise<void>((resolve) => (this.#wake = resolve));
    stop.abort();
  }
}

/** The text of a request with these headers; a body brings its length with it. */
export function requestText(line: string, headers: Readonly<Record<string, string>> = {}, body?: string): string {
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const fields = Object.entries({ host: 'localhost', ...length, ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return `${line} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n${body ?? ''}`;
}

function nameOf(field: string): string {
  return field.slice(0, field.indexOf(':')).toLowerCase();
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text)) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

function ignore(): void {}
