import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/**
 * `open` forwards. `paused` accepts and passes nothing on, as a network that loses packets: what was sent arrives after
 * `resume`. `cut` closes all connections, old and new.
 */
type ProxyState = 'open' | 'paused' | 'cut';

/** A network path to one or several ports of the loopback interface that a test can pause and cut. */
export class TcpProxy {
  /** Sees every piece that a client sends, before it is forwarded. */
  onSent: ((piece: Buffer, client: Socket) => void) | undefined;
  readonly #server: Server;
  readonly #ports: readonly number[];
  readonly #pairs = new Set<Pair>();
  #state: ProxyState = 'open';
  #next = 0;

  private constructor(ports: readonly number[]) {
    this.#ports = ports;
    this.#server = createServer({ pauseOnConnect: true, noDelay: true, allowHalfOpen: true }, (client) =>
      this.#accept(client),
    );
  }

  /** With several ports it is a load balancer: connections go to each in turn, past those that refuse. */
  static async start(...ports: readonly number[]): Promise<TcpProxy> {
    const proxy = new TcpProxy(ports);
    await once(proxy.#server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get port(): number {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It listens on a port.
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  pause(): void {
    this.#state = 'paused';
    for (const { client, target } of this.#pairs) {
      client.pause();
      target?.pause();
    }
  }

  cut(): void {
    this.#state = 'cut';
    this.#closeAll();
  }

  resume(): void {
    this.#state = 'open';
    for (const pair of this.#pairs) {
      if (pair.target === undefined) this.#forward(pair, this.#ports.length);
      pair.target?.resume();
      if (pair.isConnected) pair.client.resume();
    }
  }

  close(): void {
    this.#server.close();
    this.#closeAll();
  }

  #closeAll(): void {
    for (const { client, target } of this.#pairs) {
      client.destroy();
      target?.destroy();
    }
    this.#pairs.clear();
  }

  #accept(client: Socket): void {
    if (this.#state === 'cut') {
      client.destroy();
      return;
    }
    const pair: Pair = { client, target: undefined, isConnected: false };
    this.#pairs.add(pair);
    client.on('error', () => {});
    client.once('close', () => {
      this.#pairs.delete(pair);
      pair.target?.destroy();
    });
    if (this.#state === 'open') this.#forward(pair, this.#ports.length);
  }

  #forward(pair: Pair, triesLeft: number): void {
    const { client } = pair;
    const target = connect({ host: '127.0.0.1', port: this.#takePort(), noDelay: true, allowHalfOpen: true });
    pair.target = target;
    target.once('connect', () => {
      pair.isConnected = true;
      client.on('data', (piece: Buffer) => {
        this.onSent?.(piece, client);
        if (!target.write(piece)) client.pause();
      });
      target.on('data', (piece: Buffer) => {
        if (!client.write(piece)) target.pause();
      });
      target.on('drain', () => this.#state === 'open' && client.resume());
      client.on('drain', () => this.#state === 'open' && target.resume());
      client.once('end', () => target.end());
      target.once('end', () => client.end());
      if (this.#state === 'open') client.resume();
      else target.pause();
    });
    target.once('error', () => {
      if (!pair.isConnected && triesLeft > 1 && this.#pairs.has(pair)) this.#forward(pair, triesLeft - 1);
      else client.destroy();
    });
    target.once('close', () => {
      if (pair.isConnected) client.destroy();
    });
  }

  #takePort(): number {
    this.#next += 1;
    return this.#ports[this.#next % this.#ports.length] ?? 0;
  }
}

interface Pair {
  readonly client: Socket;
  /** `undefined` while the proxy is paused from the start of the connection. */
  target: Socket | undefined;
  isConnected: boolean;
}
