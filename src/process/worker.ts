import { Socket } from 'node:net';
import type { App, Outside } from '../app.ts';
import { freezeDeep } from '../config/config.ts';
import type { Config } from '../config/config.ts';
import { ServiceError } from '../errors/service-error.ts';
import { EXIT_START_FAILED } from './messages.ts';
import type { FromWorker, ToWorker } from './messages.ts';

const PROBES_PER_WATCH = 4;

/** The main function of the worker process: serves until the supervisor asks it to drain, or has exited. */
export function runWorker(startApp: (config: Config, outside: Outside) => Promise<App>): void {
  let app: App | undefined;
  let probeTimer: NodeJS.Timeout | undefined;

  const start = async (config: Config, workerRestarts: number): Promise<void> => {
    try {
      app = await startApp(config, { workerRestarts, supervisorPid: process.ppid });
    } catch (error) {
      const event = { kind: 'start-failed', reasons: [explain(error)] } as const;
      send({ kind: 'event', event }, () => process.exit(EXIT_START_FAILED));
      return;
    }
    send({ kind: 'ready', ready: app.ready });
    const probe = createProbe(app);
    probeTimer = setInterval(() => void probe(), (config.watchdogSeconds * 1000) / PROBES_PER_WATCH);
    await probe();
  };

  const drain = async (): Promise<void> => {
    clearInterval(probeTimer);
    await app?.drain();
    process.exit(0);
  };

  const receive = (message: ToWorker, socket: unknown): void => {
    switch (message.kind) {
      case 'start':
        void start(freezeDeep(message.config), message.workerRestarts);
        break;
      case 'socket':
        // Confirmed before the first byte is read: afterwards, the connection cannot be given to another worker.
        send({ kind: 'taken', id: message.id });
        // A connection that closed meanwhile arrives as undefined.
        if (socket instanceof Socket) app?.accept(socket);
        break;
      case 'drain':
        void drain();
        break;
      default:
        message satisfies never;
    }
  };

  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only the supervisor writes to this channel.
  process.on('message', (message, socket) => receive(message as ToWorker, socket));
  // Without a supervisor the port is free, and the next supervisor starts a worker on the same data.
  process.once('disconnect', () => process.exit(1));
  // A terminal sends its signals to both processes; the supervisor acts on them.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
}

/** Runs one probe at a time. */
function createProbe(app: App): () => Promise<void> {
  let isProbing = false;
  return async () => {
    if (isProbing) return;
    isProbing = true;
    try {
      await app.probe();
      send({ kind: 'alive' });
    } catch (error) {
      send({ kind: 'event', event: { kind: 'background-failed', task: 'probe', cause: explain(error) } });
    } finally {
      isProbing = false;
    }
  };
}

function send(message: FromWorker, onSent = (): void => {}): void {
  process.send?.(message, undefined, undefined, onSent);
}

function explain(error: unknown): string {
  if (error instanceof ServiceError) return error.detail;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
