import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { HttpClient } from './http.ts';
import type { LeakScanner } from './leak-scanner.ts';

export interface TrustServer {
  readonly url: string;
  readonly port: number;
  readonly folder: string;
  readonly key: string;
  /** Sends requests as the administrator. */
  readonly admin: HttpClient;
  readonly supervisorPid: number;
  /** The current worker; changes with every restart. */
  workerPid(): number;
  /** Workers that ended without being killed. */
  crashes(): number;
  /** In milliseconds. */
  longestWorkerStart(): number;
  /** Workers that were replaced because they did not respond. */
  stalls(): number;
  /** Kills the worker with SIGKILL, and resolves when its successor serves. */
  killWorker(): Promise<void>;
  /** The resident memory of supervisor and worker together, in MiB. */
  residentMebibytes(): Promise<number>;
  stop(): Promise<number | null>;
}

export interface ServerOptions {
  readonly folder: string;
  readonly scanner: LeakScanner;
  readonly flags?: readonly string[];
  /** Called with log lines that report a failure and its cause. */
  readonly failed?: (line: string) => void;
  readonly env?: Readonly<Record<string, string>>;
  /** The program to run instead of the built server. */
  readonly program?: string;
}

/** For campaigns that do not test the disk: `sync` and `kills` use the service's default. */
export const WITHOUT_SYNC = '--storage-sync=os';

export const TRUST_KEY = 'trust-administrator-key-planted-7f3a9c';

export async function startTrustServer(options: ServerOptions): Promise<TrustServer> {
  const { folder, scanner, flags = [], env = {}, failed = () => {} } = options;
  const { program = fileURLToPath(new URL('../bundle/main.js', import.meta.url)) } = options;
  const child = spawn(process.execPath, [program, 'serve', folder, '--port=0', '--log-format=json', ...flags], {
    env: { ...process.env, TILTYARD_ADMIN_KEY: TRUST_KEY, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  let pid = 0;
  let died = 0;
  let killed = 0;
  let stalled = 0;
  let longestStart = 0;
  let waiting: (() => void)[] = [];
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      scanner.scanLog(line);
      if (line.startsWith('{"level":"error"') && !line.includes('"event":"worker-')) failed(line);
      const event = readEvent(line);
      if (event?.event === 'listening' && event.port !== undefined) resolve(event.port);
      if (event?.event === 'worker-died') died += 1;
      if (event?.event === 'worker-stalled') stalled += 1;
      if (event?.event !== 'worker-started' || event.pid === undefined) return;
      pid = event.pid;
      longestStart = Math.max(longestStart, event.milliseconds ?? 0);
      for (const wake of waiting) wake();
      waiting = [];
    });
    void exited.then((code) => reject(new Error(`the server ended with ${code} before it listened`)));
  });
  const url = `http://127.0.0.1:${port}`;
  const admin = new HttpClient(url, scanner, { 'x-api-key': TRUST_KEY });
  return {
    url,
    port,
    folder,
    key: TRUST_KEY,
    admin,
    supervisorPid: child.pid ?? 0,
    workerPid: () => pid,
    crashes: () => died - killed,
    longestWorkerStart: () => longestStart,
    stalls: () => stalled,
    async killWorker() {
      const replaced = new Promise<void>((resolve) => waiting.push(resolve));
      killed += 1;
      process.kill(pid, 'SIGKILL');
      await replaced;
    },
    async residentMebibytes() {
      const sizes = await Promise.all([child.pid ?? 0, pid].map(readResidentMebibytes));
      return sizes.reduce((sum, size) => sum + size, 0);
    },
    async stop() {
      admin.close();
      child.kill('SIGTERM');
      return exited;
    },
  };
}

interface LoggedEvent {
  readonly event?: string;
  readonly pid?: number;
  readonly port?: number;
  readonly milliseconds?: number;
}

function readEvent(line: string): LoggedEvent | undefined {
  if (!/"event":"(?:listening|worker-)/.test(line)) return undefined;
  return JSON.parse(line) as LoggedEvent;
}

async function readResidentMebibytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}
