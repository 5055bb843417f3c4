import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of the server.
  readonly json: any;
}

type Answer = (received: Received, response: ServerResponse) => void;

/** A receiver of webhooks: keeps what arrives, and answers as the test says. */
export class Receiver {
  readonly received: Received[] = [];
  answer: Answer = (_received, response) => void response.writeHead(204).end();
  readonly #server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const body = Buffer.concat(pieces).toString();
        const received = { headers: request.headers, body, json: JSON.parse(body) };
        this.received.push(received);
        this.answer(received, response);
      });
    });
  }

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It listens on a port.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  /** The versions of the events of deliveries that were accepted or not, in the order of arrival. */
  get versions(): readonly number[] {
    return this.received.flatMap(({ json }) => json.events.map(({ version }: { version: number }) => version));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
