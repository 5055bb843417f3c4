import { fork } from 'node:child_process';
import type { Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import type { Config } from '../config/config.ts';
import type { EventOf } from '../telemetry/events.ts';
import type { FromWorker, ToWorker } from './messages.ts';

interface WorkerProcessOptions {
  readonly workerFile: URL | string;
  readonly config: Config;
  readonly workerRestarts: number;
  readonly onMessage: (message: FromWorker) => void;
  /** Called once, after the last message. */
  readonly onEnd: (end: WorkerEnd) => void;
}

export type WorkerEnd = Pick<EventOf<'worker-died'>, 'pid' | 'exitCode' | 'signal'>;

export type WorkerProcess = ReturnType<typeof startWorker>;

const FLAGS: readonly string[] = [
  // Native packages read a report to detect the C library; its network part would query name servers.
  '--report-exclude-network',
  // Results of the engine count towards the heap, which is small: without this flag, V8 runs a full collection 15 times
  // a second while a large table is read.
  '--initial-old-space-size=128',
];

/** The operator's flags come last, so they take precedence. */
export function toWorkerFlags(flags: readonly string[]): string[] {
  return [...FLAGS, ...flags];
}

export function startWorker({ workerFile, config, workerRestarts, onMessage, onEnd }: WorkerProcessOptions) {
  const child = fork(workerFile, [], {
    serialization: 'advanced',
    env: toWorkerEnvironment(process.env),
    execArgv: toWorkerFlags(process.execArgv),
  });
  const pid = child.pid ?? 0;
  let hasEnded = false;
  const end = (exitCode?: number | null, signal?: NodeJS.Signals | null): void => {
    if (hasEnded) return;
    hasEnded = true;
    onEnd({ pid, exitCode: exitCode ?? undefined, signal: signal ?? undefined });
  };
  const send = (message: ToWorker, socket?: Socket): void => {
    // Sending to a worker that has just died fails; its end is reported separately.
    child.send(message, socket, { keepOpen: true }, () => {});
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only runWorker writes to this channel.
  child.on('message', (message) => onMessage(message as FromWorker));
  // 'exit' may precede the last messages of the channel; 'close' does not.
  child.once('close', end);
  // A worker that could not be started has no channel, and may emit both events.
  child.on('error', () => {
    if (child.pid === undefined) end();
  });
  if (child.pid !== undefined) send({ kind: 'start', config, workerRestarts });
  return {
    pid,
    give: (id: number, socket: Socket) => send({ kind: 'socket', id }, socket),
    drain: () => send({ kind: 'drain' }),
    kill: () => void child.kill('SIGKILL'),
  };
}

/**
 * Environment variables of glibc's allocator, which reads them when a process starts. By default it soon returns large
 * blocks to the kernel, which then clears their pages again for each scan: a fifth of the cost of a search in 10,000
 * vectors. With these values, blocks of up to 32 MiB come from the process's own memory, and each arena keeps up to 128
 * MiB. Two arenas per processor instead of eight: 200 concurrent uploads take 1.4 instead of 1.6 GiB; with fewer
 * arenas, searches of small tables are a tenth slower.
 */
const ALLOCATOR = {
  MALLOC_MMAP_THRESHOLD_: String(32 * 2 ** 20),
  MALLOC_TRIM_THRESHOLD_: String(128 * 2 ** 20),
  MALLOC_ARENA_MAX: String(Math.max(4, 2 * availableParallelism())),
};

/** The operator's settings take precedence. */
export function toWorkerEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...ALLOCATOR, ...environment };
}
