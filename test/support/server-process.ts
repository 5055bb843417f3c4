import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ADMIN_KEY } from './server.ts';

export interface ServerProcess {
  readonly url: string;
  /** The last lines of its log, parsed. */
  readonly log: readonly LogEvent[];
  readonly supervisorPid: number;
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

/** Lines that are kept at least. */
const LOG_MAX = 50_000;

/** Settings that are wrong are shown as plain text. */
const PLAIN_MAX = 20;

/** The server as its users start it: supervisor and worker in separate processes. */
export async function startServerProcess(
  folder: string,
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<ServerProcess> {
  const main = fileURLToPath(new URL('../../bundle/main.js', import.meta.url));
  const anyPort = flags.some((flag) => flag.startsWith('--port=')) ? [] : ['--port=0'];
  const child = spawn(process.execPath, [main, 'serve', folder, ...anyPort, '--log-format=json', ...flags], {
    env: { ...withoutTestVariables(process.env), TILTYARD_ADMIN_KEY: ADMIN_KEY, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  // The worker writes to the same pipe, so that it stays open for as long as one of them lives.
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const log: LogEvent[] = [];
  const plain: string[] = [];
  let pid = 0;
  let waiting: (() => void)[] = [];
  let onPort: (port: number) => void = () => {};
  const port = new Promise<number>((resolve) => {
    onPort = resolve;
  });
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (!line.startsWith('{')) {
      if (plain.length < PLAIN_MAX) plain.push(line);
      return;
    }
    const event = JSON.parse(line) as LogEvent & { readonly pid?: number; readonly port?: number };
    log.push(event);
    if (log.length > 2 * LOG_MAX) log.splice(0, LOG_MAX);
    if (event.event === 'listening' && event.port !== undefined) onPort(event.port);
    if (event.event !== 'worker-started' || event.pid === undefined) return;
    pid = event.pid;
    for (const resolve of waiting) resolve();
    waiting = [];
  });
  const early = gone.then(async () => {
    const reasons = log.filter(({ event }) => event === 'start-failed').map(({ details }) => String(details));
    throw new Error([`the server ended with ${await exited} before it listened`, ...reasons, ...plain].join('\n'));
  });
  const url = `http://127.0.0.1:${await Promise.race([port, early])}`;
  early.catch(() => {});
  return {
    url,
    log,
    supervisorPid: child.pid ?? 0,
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
      signal(pid, 'SIGKILL');
      await gone;
    },
  };
}

/** A process that has ended meanwhile is no error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    if (pid > 0) process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Those of the tests are no settings of the server. */
function withoutTestVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TILTYARD_TEST_')));
}
