import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { ReplyReader } from './reply-reader.ts';

/**
 * A bare HTTP/1.1 client on one keep-alive connection. Both sides of a comparison share this machine's cores, so the
 * client must cost as little as possible.
 */
export class BareClient {
  readonly #socket: Socket;
  #resolve: ((status: number) => void) | undefined;
  #reject: ((error: Error) => void) | undefined;

  #isPolling = false;

  private constructor(socket: Socket, onRefusal: (refusal: string) => void) {
    this.#socket = socket;
    const reader = new ReplyReader((status, refusal) => {
      if (refusal !== '' && !this.#isPolling) onRefusal(refusal);
      this.#resolve?.(status);
    });
    socket.on('data', (piece) => reader.take(piece));
    socket.on('error', (error) => this.#reject?.(error));
    socket.on('close', () => this.#reject?.(new Error('the connection was closed')));
  }

  static async open(port: number, onRefusal = printRefusal): Promise<BareClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new BareClient(socket, onRefusal);
  }

  /** Sends the bytes of a complete request, and returns the status once the whole reply has arrived. */
  async send(request: Buffer | readonly Buffer[]): Promise<number> {
    if (this.#socket.destroyed) throw new Error('the connection was closed before the request');
    const reply = new Promise<number>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // In one system call, as HTTP clients do.
    this.#socket.cork();
    for (const part of Array.isArray(request) ? request : [request]) this.#socket.write(part as Buffer);
    this.#socket.uncork();
    return reply;
  }

  /** Like `send`, for a request that is refused until what it asks for exists. */
  async poll(request: Buffer): Promise<number> {
    this.#isPolling = true;
    try {
      return await this.send(request);
    } finally {
      this.#isPolling = false;
    }
  }

  close(): void {
    this.#reject = undefined;
    this.#socket.destroy();
  }
}

function printRefusal(refusal: string): void {
  process.stderr.write(`${refusal}\n`);
}

export interface RequestParts {
  readonly path: string;
  readonly key: string;
  readonly type: string;
  readonly length: number;
}

export function getRequest(path: string, key: string): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: ${key}\r\n\r\n`);
}

export function requestHead({ path, key, type, length }: RequestParts): Buffer {
  const lines = [
    `POST ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    `x-api-key: ${key}`,
    `content-type: ${type}`,
    `content-length: ${length}`,
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
}

export function jsonRequest(path: string, key: string, body: object): Buffer {
  const bytes = Buffer.from(JSON.stringify(body));
  return Buffer.concat([requestHead({ path, key, type: 'application/json', length: bytes.length }), bytes]);
}
