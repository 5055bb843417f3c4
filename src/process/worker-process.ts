import { fork } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Config } from '../config/config.ts';
import type { FromWorker, ToWorker } from './messages.ts';
import { toWorkerEnvironment } from './worker-environment.ts';

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
