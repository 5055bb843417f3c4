import { createServer } from 'node:net';
import type { Server } from 'node:net';
import type { AppReady } from '../app.ts';
import type { Config } from '../config/config.ts';
import { SHUTDOWN_GRACE_SECONDS } from '../model/limits.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { EXIT_START_FAILED } from './messages.ts';
import type { FromWorker } from './messages.ts';
import { WaitingSockets } from './waiting-sockets.ts';
import { startWatchdog } from './watchdog.ts';
import type { Watchdog } from './watchdog.ts';
import { startWorker } from './worker-process.ts';
import type { WorkerEnd, WorkerProcess } from './worker-process.ts';

type Address = Pick<Config, 'host' | 'port'>;

interface SupervisorOptions {
  readonly config: Config;
  /** A module that calls `runWorker`. */
  readonly workerFile: URL | string;
  readonly telemetry: Telemetry;
  /** Called once, when the first worker is ready. */
  readonly onListening: (address: Address, ready: AppReady) => void;
}

/**
 * Holds the port and keeps a worker running behind it, until a signal ends both. Resolves to the exit code of the
 * process.
 */
export async function runSupervisor(options: SupervisorOptions): Promise<number> {
  const { config, telemetry } = options;
  // Connections are not read here: the worker reads from the first byte.
  const server = createServer({ pauseOnConnect: true, noDelay: true });
  const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    server.once('error', resolve);
    server.listen({ host: config.host, port: config.port }, () => resolve(undefined));
  });
  if (error !== undefined) {
    telemetry.emit({ kind: 'start-failed', reasons: [explainListenError(error, config)] });
    return EXIT_START_FAILED;
  }
  return new Supervisor(options, server).run();
}

function explainListenError(error: NodeJS.ErrnoException, { host, port }: Config): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is already in use: stop the other program, or choose a port with --port.`;
    case 'EACCES':
      return `This user may not open port ${port} of ${host}: choose a port above 1023 with --port.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The host ${host} is not an address of this machine: choose another with --host.`;
    default:
      return `Port ${port} of ${host} cannot be opened: ${error.message}.`;
  }
}

class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #server: Server;
  readonly #address: Address;
  readonly #sockets: WaitingSockets;
  #worker: WorkerProcess | undefined;
  #watchdog: Watchdog | undefined;
  /** `starting`: no worker has been ready yet. */
  #state: 'starting' | 'ready' | 'restarting' = 'starting';
  #isProven = false;
  #earlyDeaths = 0;
  #restarts = 0;
  #isDraining = false;
  #startedAt = 0;
  #restartTimer: NodeJS.Timeout | undefined;
  #noticeTimer: NodeJS.Timeout | undefined;
  #killTimer: NodeJS.Timeout | undefined;
  #end: (exitCode: number) => void = () => {};

  constructor(options: SupervisorOptions, server: Server) {
    const { host, port, limits } = options.config;
    const bound = server.address();
    this.#options = options;
    this.#server = server;
    this.#address = { host, port: typeof bound === 'object' && bound !== null ? bound.port : port };
    this.#sockets = new WaitingSockets({
      socketsMax: limits.http.connectionsMax,
      waitSeconds: limits.http.headersSeconds,
      onRefused: (count) => options.telemetry.emit({ kind: 'connections-refused', count }),
    });
  }

  async run(): Promise<number> {
    const stop = (reason: string): void => (this.#isDraining ? this.#worker?.kill() : this.#drain(reason));
    process.on('SIGTERM', stop).on('SIGINT', stop);
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      this.#giveSockets();
    });
    const exitCode = await new Promise<number>((resolve) => {
      this.#end = resolve;
      this.#start();
    });
    process.off('SIGTERM', stop).off('SIGINT', stop);
    clearTimeout(this.#noticeTimer);
    clearTimeout(this.#killTimer);
    this.#server.close();
    this.#sockets.closeAll();
    return exitCode;
  }

  #start(): void {
    const { workerFile, config } = this.#options;
    this.#isProven = false;
    this.#startedAt = performance.now();
    try {
      this.#worker = startWorker({
        workerFile,
        // The worker does not listen, but it must know the actual port if the setting is 0.
        config: { ...config, port: this.#address.port },
        workerRestarts: this.#restarts,
        onMessage: (message) => this.#receive(message),
        onEnd: (end) => this.#onWorkerEnd(end),
      });
    } catch {
      // Out of memory or process slots: forking may succeed later.
      this.#onWorkerEnd({ pid: 0, exitCode: undefined, signal: undefined });
    }
  }

  #receive(message: FromWorker): void {
    switch (message.kind) {
      case 'ready':
        this.#onReady(message.ready);
        break;
      case 'event':
        this.#options.telemetry.emit(message.event);
        break;
      case 'taken':
        this.#sockets.release(message.id);
        break;
      case 'alive':
        this.#isProven = true;
        this.#watchdog?.heard();
        break;
      default:
        message satisfies never;
    }
  }

  #onReady(ready: AppReady): void {
    const { config, telemetry, onListening } = this.#options;
    const isFirst = this.#state === 'starting';
    this.#state = 'ready';
    if (this.#isDraining) return;
    const milliseconds = Math.round(performance.now() - this.#startedAt);
    const engine = ready.engine.version;
    telemetry.emit({ kind: 'worker-started', pid: this.#worker?.pid ?? 0, milliseconds, engine });
    this.#watchdog = startWatchdog(config.watchdogSeconds, () => this.#onSilent());
    this.#giveSockets();
    if (!isFirst) return;
    telemetry.emit({ kind: 'listening', ...this.#address, tls: config.tls !== undefined });
    onListening(this.#address, ready);
  }

  #giveSockets(): void {
    const worker = this.#worker;
    if (worker !== undefined && this.#state === 'ready') this.#sockets.giveAll((id, socket) => worker.give(id, socket));
  }

  #onSilent(): void {
    const { config, telemetry } = this.#options;
    telemetry.emit({ kind: 'worker-stalled', pid: this.#worker?.pid ?? 0, seconds: config.watchdogSeconds });
    this.#worker?.kill();
  }

  #onWorkerEnd(end: WorkerEnd): void {
    const isFirstStart = this.#state === 'starting';
    this.#worker = undefined;
    if (!isFirstStart) this.#state = 'restarting';
    this.#watchdog?.stop();
    this.#sockets.takeBack();
    if (this.#isDraining) this.#onDrained(end);
    else if (isFirstStart && end.exitCode !== undefined) this.#giveUp(end.exitCode);
    else this.#restart(end);
  }

  /** A first worker that exits by itself would do so again; one that was killed may succeed next time. */
  #giveUp(exitCode: number): void {
    if (exitCode !== EXIT_START_FAILED) {
      const reasons = [`The worker ended with code ${exitCode} before it was ready.`];
      this.#options.telemetry.emit({ kind: 'start-failed', reasons });
    }
    this.#end(EXIT_START_FAILED);
  }

  #restart(end: WorkerEnd): void {
    this.#earlyDeaths = this.#isProven ? 0 : this.#earlyDeaths + 1;
    const restartMilliseconds = restartDelayMilliseconds(this.#earlyDeaths);
    this.#options.telemetry.emit({ kind: 'worker-died', ...end, restartMilliseconds });
    this.#restarts += 1;
    this.#restartTimer = setTimeout(() => this.#start(), restartMilliseconds);
  }

  #drain(reason: string): void {
    const { drainNoticeSeconds, drainSeconds } = this.#options.config.limits.http;
    const seconds = drainNoticeSeconds + drainSeconds;
    this.#isDraining = true;
    this.#options.telemetry.emit({ kind: 'draining', reason, seconds });
    if (drainNoticeSeconds === 0) this.#server.close();
    else this.#noticeTimer = setTimeout(() => this.#server.close(), drainNoticeSeconds * 1000);
    this.#watchdog?.stop();
    clearTimeout(this.#restartTimer);
    if (this.#worker === undefined) {
      this.#end(0);
      return;
    }
    this.#worker.drain();
    // The worker ends its own drain; it is killed only if it does not.
    this.#killTimer = setTimeout(() => this.#worker?.kill(), (seconds + SHUTDOWN_GRACE_SECONDS) * 1000);
  }

  #onDrained(end: WorkerEnd): void {
    const { telemetry } = this.#options;
    if (end.exitCode === 0) telemetry.emit({ kind: 'worker-stopped', pid: end.pid });
    else telemetry.emit({ kind: 'worker-died', ...end, restartMilliseconds: undefined });
    this.#end(0);
  }
}

const RESTART_MILLISECONDS_MIN = 50;
const RESTART_MILLISECONDS_MAX = 2000;

/** Exponential backoff over consecutive workers that died before their first probe; others are replaced at once. */
export function restartDelayMilliseconds(earlyDeaths: number): number {
  const doublings = Math.min(Math.max(earlyDeaths - 1, 0), 16);
  return Math.min(RESTART_MILLISECONDS_MIN * 2 ** doublings, RESTART_MILLISECONDS_MAX);
}
