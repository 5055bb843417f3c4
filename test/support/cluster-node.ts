import { eventually } from './eventually.ts';
import { findFreePort } from './free-port.ts';
import { signal, startServerProcess } from './server-process.ts';
import type { LogEvent, ServerProcess } from './server-process.ts';
import { TcpProxy } from './tcp-proxy.ts';

export interface NodeOptions {
  readonly folder: string;
  readonly catalogUrl: string;
  readonly storeUrl: string;
  readonly storageOptions: Readonly<Record<string, string>>;
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Lines of the logs of earlier starts that are kept. */
const LOG_MAX = 10_000;

/** A server that reaches PostgreSQL and the store, and is reached by its peers, through proxies that no other node uses. */
export class ClusterNode {
  readonly port: number;
  readonly toCatalog: TcpProxy;
  readonly toStore: TcpProxy;
  /** What other nodes send to this one. */
  readonly fromPeers: TcpProxy;
  readonly #options: NodeOptions;
  readonly #env: Record<string, string>;
  readonly #pastLog: LogEvent[] = [];
  #process: ServerProcess | undefined;

  private constructor(options: NodeOptions, parts: Pick<ClusterNode, 'port' | 'toCatalog' | 'toStore' | 'fromPeers'>) {
    this.#options = options;
    this.#env = { ...options.env };
    this.port = parts.port;
    this.toCatalog = parts.toCatalog;
    this.toStore = parts.toStore;
    this.fromPeers = parts.fromPeers;
  }

  /** Not started yet. */
  static async open(options: NodeOptions): Promise<ClusterNode> {
    const port = await findFreePort();
    const [toCatalog, toStore, fromPeers] = await Promise.all([
      TcpProxy.start(Number(new URL(options.catalogUrl).port)),
      TcpProxy.start(Number(new URL(options.storeUrl).port)),
      TcpProxy.start(port),
    ]);
    return new ClusterNode(options, { port, toCatalog, toStore, fromPeers });
  }

  /** For clients: past the proxy. */
  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The last lines of its logs, over all starts. */
  get log(): readonly LogEvent[] {
    return [...this.#pastLog, ...(this.#process?.log ?? [])];
  }

  get isStarted(): boolean {
    return this.#process !== undefined;
  }

  /** On the same folder and port as before, with these variables from now on; resolves when it is ready. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    Object.assign(this.#env, env);
    const { folder, flags, catalogUrl, storageOptions } = this.#options;
    const catalog = new URL(catalogUrl);
    catalog.port = String(this.toCatalog.port);
    const store = JSON.stringify({ ...storageOptions, aws_endpoint: this.toStore.url });
    const started = await startServerProcess(folder, [...flags, `--port=${this.port}`], {
      ...this.#env,
      TILTYARD_CATALOG_URL: catalog.toString(),
      TILTYARD_NODE_URL: this.fromPeers.url,
      TILTYARD_STORAGE_OPTIONS: store,
    });
    this.#process = started;
    await eventually(
      async () => this.isReady(),
      () => `node at ${this.url} is ready: ${JSON.stringify(started.log.slice(-5))}`,
    );
  }

  async isReady(): Promise<boolean> {
    const reply = await fetch(`${this.url}/readyz`, { signal: AbortSignal.timeout(2000) }).catch(() => undefined);
    await reply?.arrayBuffer();
    return reply?.status === 200;
  }

  /** As a crash of its machine. */
  async kill(): Promise<void> {
    const ended = this.#end();
    await ended?.killAll();
  }

  /** Only the worker: its supervisor starts another. */
  async killWorker(): Promise<void> {
    await this.#process?.killWorker();
  }

  /** Stops supervisor and worker where they are, as a pause of their virtual machine does. */
  pause(): void {
    // The supervisor first: it must not replace a worker that does not answer.
    signal(this.#process?.supervisorPid ?? 0, 'SIGSTOP');
    signal(this.#process?.workerPid() ?? 0, 'SIGSTOP');
  }

  resume(): void {
    signal(this.#process?.workerPid() ?? 0, 'SIGCONT');
    signal(this.#process?.supervisorPid ?? 0, 'SIGCONT');
  }

  /** As for an upgrade; resolves when it has ended. */
  async drain(): Promise<number | null> {
    const ended = this.#end();
    const known = ended?.log.length ?? 0;
    const exitCode = (await ended?.stop()) ?? null;
    this.#pastLog.push(...(ended?.log.slice(known) ?? []));
    return exitCode;
  }

  /** Its connections to others work again. */
  reconnect(): void {
    for (const proxy of [this.toCatalog, this.toStore, this.fromPeers]) proxy.resume();
  }

  async close(): Promise<void> {
    await this.kill();
    for (const proxy of [this.toCatalog, this.toStore, this.fromPeers]) proxy.close();
  }

  #end(): ServerProcess | undefined {
    const ended = this.#process;
    this.#process = undefined;
    this.#pastLog.push(...(ended?.log ?? []));
    this.#pastLog.splice(0, Math.max(0, this.#pastLog.length - LOG_MAX));
    return ended;
  }
}
