import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ADMIN_KEY } from './server.ts';

export interface ServerProcess {
  readonly url: string;
  /** The lines of its log so far, parsed. */
  readonly log: readonly LogEvent[];
  /** The worker that serves now; changes with every restart. */
  workerPid(): number;
  /** Kills the worker the hard way, and resolves when its successor serves. */
  killWorker(): Promise<void>;
  /** Asks it to shut down, and resolves with its exit code. */
  stop(): Promise<number | null>;
  /** Kills supervisor and worker at the same moment, and resolves when both are gone. */
  killAll(): Promise<void>;
}

export type LogEvent = Readonly<Record<string, unknown>> & { readonly event: string };

/** The server as its users start it: supervisor and worker in separate processes. */
export async function startServerProcess(
  folder: string,
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<ServerProcess> {
  const main = fileURLToPath(new URL('../../bundle/main.js', import.meta.url));
  const child = spawn(process.execPath, [main, 'serve', folder, '--port=0', '--log-format=json', ...flags], {
    env: { ...process.env, TILTYARD_ADMIN_KEY: ADMIN_KEY, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  // The worker writes to the same pipe, so that it stays open for as long as one of them lives.
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const log: LogEvent[] = [];
  let pid = 0;
  let waiting: (() => void)[] = [];
  let onPort: (port: number) => void = () => {};
  const port = new Promise<number>((resolve) => {
    onPort = resolve;
  });
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (!line.startsWith('{')) return;
    const event = JSON.parse(line) as LogEvent & { readonly pid?: number; readonly port?: number };
    log.push(event);
    if (event.event === 'listening' && event.port !== undefined) onPort(event.port);
    if (event.event !== 'worker-started' || event.pid === undefined) return;
    pid = event.pid;
    for (const resolve of waiting) resolve();
    waiting = [];
  });
  const early = gone.then(async () => {
    const reasons = log.filter(({ event }) => event === 'start-failed').map(({ details }) => String(details));
    throw new Error([`the server ended with ${await exited} before it listened`, ...reasons].join('\n'));
  });
  const url = `http://127.0.0.1:${await Promise.race([port, early])}`;
  early.catch(() => {});
  return {
    url,
    log,
    workerPid: () => pid,
    async killWorker() {
      const replaced = new Promise<void>((resolve) => waiting.push(resolve));
      process.kill(pid, 'SIGKILL');
      await replaced;
    },
    async stop() {
      child.kill('SIGTERM');
      return exited;
    },
    async killAll() {
      child.kill('SIGKILL');
      process.kill(pid, 'SIGKILL');
      await gone;
    },
  };
}
