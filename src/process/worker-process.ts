import { fork } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Config } from '../config/config.ts';
import type { FromWorker, ToWorker } from './messages.ts';
import { availableParallelism } from 'node:os';

export interface WorkerProcessOptions {
  readonly workerFile: URL | string;
  readonly config: Config;
  readonly workerRestarts: number;
  readonly onMessage: (message: FromWorker) => void;
  /** Called once, after the last message. */
  readonly onEnd: (end: WorkerEnd) => void;
}

export interface WorkerEnd {
  readonly pid: number;
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
}

export interface WorkerProcess {
  readonly pid: number;
  give(id: number, socket: Socket): void;
  drain(): void;
  kill(): void;
}

export function startWorker(options: WorkerProcessOptions): WorkerProcess {
  const { workerFile, config, workerRestarts, onMessage, onEnd } = options;
  const child = fork(workerFile, [], {
    serialization: 'advanced',
    env: toWorkerEnvironment(process.env),
    // Native packages ask for a report to tell one C library from another; its part on the network asks name servers.
    execArgv: [...process.execArgv, '--report-exclude-network'],
  });
  const pid = child.pid ?? 0;
  const send = (message: ToWorker, socket?: Socket): void => {
    // A message to a worker that has just died fails; its end is reported by itself.
    child.send(message, socket, { keepOpen: true }, ignore);
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only runWorker writes to this channel.
  child.on('message', (message) => onMessage(message as FromWorker));
  // 'exit' may come before messages that are still in the channel; 'close' does not.
  child.once('close', (code, signal) => onEnd({ pid, exitCode: code ?? undefined, signal: signal ?? undefined }));
  child.on('error', () => {
    if (child.pid === undefined) onEnd({ pid, exitCode: undefined, signal: undefined });
  });
  send({ kind: 'start', config, workerRestarts });
  return {
    pid,
    give: (id, socket) => send({ kind: 'socket', id }, socket),
    drain: () => send({ kind: 'drain' }),
    kill: () => void child.kill('SIGKILL'),
  };
}

function ignore(): void {}

/**
 * Of the C library's allocator, which reads them when a process starts. By itself it gives the memory of large blocks back
 * soon after: the pages of each scan are then cleared by the kernel again, a fifth of what a search of 10,000 vectors
 * costs. Blocks of up to 32 MiB are taken from memory that the process has, and each of its pools keeps up to 128 MiB.
 * There are two pools for each processor, where it would have eight: 200 uploads at once then take 1.4 instead of 1.6 GiB.
 * With fewer, threads wait for one another, and searches of small tables are slower by a tenth.
 */
const ALLOCATOR = {
  MALLOC_MMAP_THRESHOLD_: String(32 * 2 ** 20),
  MALLOC_TRIM_THRESHOLD_: String(128 * 2 ** 20),
  MALLOC_ARENA_MAX: String(Math.max(4, 2 * availableParallelism())),
};

/** What the operator has set stays. */
export function toWorkerEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...ALLOCATOR, ...environment };
}
