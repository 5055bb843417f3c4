import { connect } from 'node:net';
import type { Socket } from 'node:net';

/**
 * A bare HTTP/1.1 client on one kept-alive connection. The two sides of a comparison share this machine's cores, so the
 * client must cost as little as can be.
 */
export class BareClient {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #resolve: ((status: number) => void) | undefined;
  #reject: ((error: Error) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (piece) => this.#take(piece));
    socket.on('error', (error) => this.#reject?.(error));
    socket.on('close', () => this.#reject?.(new Error('the connection was closed')));
  }

  static async open(port: number): Promise<BareClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new BareClient(socket);
  }

  /** Sends bytes that are a whole request and gives the status of the reply, once all of it is there. */
  async send(request: Buffer | readonly Buffer[]): Promise<number> {
    const reply = new Promise<number>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    for (const part of Array.isArray(request) ? request : [request]) this.#socket.write(part as Buffer);
    return reply;
  }

  close(): void {
    this.#reject = undefined;
    this.#socket.destroy();
  }

  #take(piece: Buffer): void {
    this.#received = this.#received.length === 0 ? piece : Buffer.concat([this.#received, piece]);
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const head = this.#received.toString('latin1', 0, headEnd);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#received.length < headEnd + 4 + length) return;
    const status = Number(head.slice(9, 12));
    if (status >= 400) process.stderr.write(`${this.#received.toString('utf8', headEnd + 4)}\n`);
    this.#received = this.#received.subarray(headEnd + 4 + length);
    this.#resolve?.(status);
  }
}

export interface RequestParts {
  readonly path: string;
  readonly key: string;
  readonly type: string;
  readonly length: number;
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
