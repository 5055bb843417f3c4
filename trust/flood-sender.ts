import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** What the sending process should send. */
export interface FloodOrder {
  readonly port: number;
  readonly key: string;
  readonly path: string;
  readonly bodies: readonly string[];
  readonly seconds: number;
  readonly connections: number;
  /** Without it, each connection sends again as soon as it has a reply. */
  readonly perSecond?: number;
  /** The normal maximum latency, in milliseconds, which is reached again after the recovery from the flood. */
  readonly normalMilliseconds?: number;
}

/** One request, in milliseconds since the flood began. */
export type FloodReply = readonly [status: number, dueAt: number, sentAt: number, answeredAt: number];

export interface FloodSeen {
  readonly replies: readonly FloodReply[];
  /** Due, but not sent before the end because every connection was waiting for a reply. */
  readonly unsent: number;
  /** Replies with 503 that lack Retry-After. */
  readonly withoutRetryAfter: number;
  /** Requests whose connection broke. */
  readonly broken: number;
  /** Samples of replies other than 200, for the leak scanner. */
  readonly samples: readonly string[];
  /** The p99 delay of the sender's own timers, in milliseconds. */
  readonly ownDelay: number;
  /** CPU seconds that the sender used while it sent. */
  readonly ownSeconds: number;
  /** From the end of the flood until a request had normal latency again, in milliseconds. */
  readonly recovery: number;
}

const TICK_MILLISECONDS = 1;
const RECOVERY_MILLISECONDS_MAX = 30_000;
const SAMPLES_MAX = 100;
const HEAD_END = '\r\n\r\n';

interface KeptConnection {
  readonly socket: Socket;
  /** Called with the status of the last request's reply; `undefined` if the connection broke. */
  onReply: ((status: number | undefined) => void) | undefined;
  received: string;
}

/** Raw keep-alive sockets with one request at a time: almost free, so that the server is measured. */
class Sender {
  readonly #order: FloodOrder;
  readonly #requests: readonly Buffer[];
  readonly #free: KeptConnection[] = [];
  readonly #due: number[] = [];
  readonly #replies: FloodReply[] = [];
  readonly #samples: string[] = [];
  #startedAt = 0;
  #isOver = false;
  #sent = 0;
  #open = 0;
  #broken = 0;
  #withoutRetryAfter = 0;

  constructor(order: FloodOrder) {
    this.#order = order;
    const { path, key } = order;
    this.#requests = order.bodies.map((body) =>
      Buffer.from(
        `POST ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\n` +
          `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      ),
    );
  }

  async run(): Promise<FloodSeen> {
    const { connections, perSecond } = this.#order;
    const opened = Array.from({ length: connections }, async () => this.#free.push(await this.#connect()));
    await Promise.all(opened);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const before = process.cpuUsage();
    this.#startedAt = performance.now();
    await (perSecond === undefined ? this.#runClosed() : this.#runOpen(perSecond));
    this.#isOver = true;
    const { user, system } = process.cpuUsage(before);
    const ownDelay = delay.percentile(99) / 1e6;
    const recovery = await this.#recover();
    while (this.#open > 0) await pause(TICK_MILLISECONDS);
    return {
      replies: this.#replies,
      unsent: this.#due.length,
      withoutRetryAfter: this.#withoutRetryAfter,
      broken: this.#broken,
      samples: this.#samples,
      ownDelay,
      ownSeconds: (user + system) / 1e6,
      recovery,
    };
  }

  /** After its first reply, the connection has been handed to the worker. */
  async #connect(): Promise<KeptConnection> {
    const socket = connect({ port: this.#order.port, host: '127.0.0.1', noDelay: true });
    const connection: KeptConnection = { socket, onReply: undefined, received: '' };
    socket.on('error', () => undefined);
    socket.on('data', (piece) => this.#receive(connection, piece));
    socket.on('close', () => connection.onReply?.(undefined));
    await this.#ask(connection, Buffer.from('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'));
    return connection;
  }

  async #runClosed(): Promise<void> {
    for (const connection of this.#free.splice(0)) void this.#send(connection, 0);
    await pause(this.#order.seconds * 1000);
  }

  /** Sends at a fixed rate, whether or not earlier requests have replies. */
  async #runOpen(perSecond: number): Promise<void> {
    const end = this.#order.seconds * 1000;
    let due = 0;
    for (let now = this.#now(); now < end; now = this.#now()) {
      for (; due < (now / 1000) * perSecond; due += 1) this.#due.push((due / perSecond) * 1000);
      this.#sendDue();
      await pause(TICK_MILLISECONDS);
    }
  }

  #sendDue(): void {
    while (this.#due.length > 0 && this.#free.length > 0 && !this.#isOver) {
      const connection = this.#free.pop();
      if (connection !== undefined) void this.#send(connection, this.#due.shift() ?? 0);
    }
  }

  async #send(connection: KeptConnection, dueAt: number): Promise<void> {
    const sentAt = this.#now();
    this.#open += 1;
    const status = await this.#ask(connection, this.#nextRequest());
    this.#open -= 1;
    if (status === undefined) {
      this.#broken += 1;
      return;
    }
    this.#replies.push([status, dueAt, sentAt, this.#now()]);
    if (this.#order.perSecond === undefined && !this.#isOver) {
      void this.#send(connection, this.#now());
      return;
    }
    this.#free.push(connection);
    this.#sendDue();
  }

  /** Sends sequentially, on a separate connection. */
  async #recover(): Promise<number> {
    const { normalMilliseconds } = this.#order;
    if (normalMilliseconds === undefined) return 0;
    const endedAt = this.#now();
    const connection = await this.#connect();
    while (this.#now() - endedAt < RECOVERY_MILLISECONDS_MAX) {
      const sentAt = this.#now();
      const status = await this.#ask(connection, this.#nextRequest());
      if (status === 200 && this.#now() - sentAt <= normalMilliseconds) return sentAt - endedAt;
    }
    return RECOVERY_MILLISECONDS_MAX;
  }

  #nextRequest(): Buffer {
    this.#sent += 1;
    return this.#requests[this.#sent % this.#requests.length] ?? Buffer.alloc(0);
  }

  /** The status of the reply; `undefined` if the connection broke. */
  async #ask(connection: KeptConnection, request: Buffer): Promise<number | undefined> {
    return new Promise((resolve) => {
      connection.received = '';
      connection.onReply = (status) => {
        connection.onReply = undefined;
        resolve(status);
      };
      if (connection.socket.destroyed) connection.onReply(undefined);
      else connection.socket.write(request);
    });
  }

  #receive(connection: KeptConnection, piece: Buffer): void {
    connection.received += piece.toString('latin1');
    const headEnd = connection.received.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const head = connection.received.slice(0, headEnd).toLowerCase();
    const length = Number(/\r\ncontent-length: (\d+)/.exec(head)?.[1] ?? 0);
    if (connection.received.length < headEnd + HEAD_END.length + length) return;
    const status = Number(head.slice(9, 12));
    if (status !== 200 && this.#samples.length < SAMPLES_MAX) this.#samples.push(connection.received);
    if (status === 503 && !/\r\nretry-after: \d/.test(head)) this.#withoutRetryAfter += 1;
    connection.onReply?.(status);
  }

  #now(): number {
    return performance.now() - this.#startedAt;
  }
}

async function pause(milliseconds: number): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}

process.once('message', (order) => {
  void new Sender(order as FloodOrder).run().then((seen) => process.send?.(seen, () => process.exit(0)));
});
