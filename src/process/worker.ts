import { Socket } from 'node:net';
import { ServiceError } from '../errors/service-error.ts';
import { freezeDeep } from '../config/config.ts';
import type { Config } from '../config/config.ts';
import { EXIT_START_FAILED } from './messages.ts';
import type { FromWorker, ToWorker } from './messages.ts';
import type { App } from '../app.ts';

export type StartApp = (config: Config, start: WorkerStart) => Promise<App>;

export interface WorkerStart {
  readonly workerRestarts: number;
  readonly supervisorPid: number;
}

/** The main function of the worker process: serves until the supervisor asks it to drain, or is gone. */
export function runWorker(startApp: StartApp): void {
  const worker = new Worker(startApp);
  process.on('message', (message, socket) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only the supervisor writes to this channel.
    worker.receive(message as ToWorker, socket);
  });
  // Without a supervisor the port is free, and the next supervisor starts a worker on the same data.
  process.once('disconnect', () => process.exit(1));
  // A terminal sends its signals to both processes; the supervisor acts on them.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, ignore);
}

const PROBES_PER_WATCH = 4;

class Worker {
  readonly #startApp: StartApp;
  #app: App | undefined;
  #probeTimer: NodeJS.Timeout | undefined;
  #isProbing = false;

  constructor(startApp: StartApp) {
    this.#startApp = startApp;
  }

  receive(message: ToWorker, socket: unknown): void {
    switch (message.kind) {
      case 'start':
        void this.#start(freezeDeep(message.config), message);
        break;
      case 'socket':
        this.#take(message.id, socket);
        break;
      case 'drain':
        void this.#drain();
        break;
      default:
        message satisfies never;
    }
  }

  async #start(config: Config, { workerRestarts }: { readonly workerRestarts: number }): Promise<void> {
    let app: App;
    try {
      app = await this.#startApp(config, { workerRestarts, supervisorPid: process.ppid });
    } catch (error) {
      send({ kind: 'failed', faults: [explain(error)] }, () => process.exit(EXIT_START_FAILED));
      return;
    }
    this.#app = app;
    send({ kind: 'ready', ready: app.ready });
    this.#probeTimer = setInterval(() => void this.#probe(app), (config.watchdogSeconds * 1000) / PROBES_PER_WATCH);
    await this.#probe(app);
  }

  /** Confirms before the first byte is read: after that, the connection cannot be given to another worker. */
  #take(id: number, socket: unknown): void {
    send({ kind: 'taken', id });
    // A connection that broke meanwhile arrives as undefined.
    if (socket instanceof Socket) this.#app?.accept(socket);
  }

  async #probe(app: App): Promise<void> {
    if (this.#isProbing) return;
    this.#isProbing = true;
    try {
      await app.probe();
      send({ kind: 'alive' });
    } catch (error) {
      send({ kind: 'probe-failed', reason: explain(error) });
    } finally {
      this.#isProbing = false;
    }
  }

  async #drain(): Promise<void> {
    clearInterval(this.#probeTimer);
    await this.#app?.drain();
    process.exit(0);
  }
}

function send(message: FromWorker, onSent: () => void = ignore): void {
  process.send?.(message, undefined, undefined, onSent);
}

function explain(error: unknown): string {
  if (error instanceof ServiceError) return error.detail;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function ignore(): void {}
