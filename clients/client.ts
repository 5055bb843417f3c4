import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable } from 'node:stream';

/** A client of others, run unmodified against the service; its programs are written in its own language. */
export interface ClientSuite {
  /** On the command line, in file names and in the docs. */
  readonly name: string;
  readonly language: string;
  readonly packageName: string;
  /** Newest first. */
  readonly releases: readonly string[];
  /** Why it is run only when it is named. */
  readonly onRequest?: string;
  /** Installs a release into this folder, which is there already when it was installed before. */
  prepare(release: string, folder: string): Promise<Prepared | Skipped>;
  /** Starts the program that tries every method, with `startProgram`. */
  run(prepared: Prepared, service: ClientService): Program;
}

export interface Prepared {
  readonly release: string;
  /** Where everything was installed. */
  readonly folder: string;
}

/** Tools or packages are missing. */
export interface Skipped {
  readonly skipped: string;
}

export type ServiceKind = 'one' | 'nodes';

export interface ClientService {
  readonly url: string;
  readonly key: string;
  readonly database: string;
  /** Empty, for local tables. */
  readonly folder: string;
  readonly kind: ServiceKind;
  /** By which clients that read and write tables themselves reach the object store, as variables of the environment. */
  readonly storeEnv: Readonly<Record<string, string>>;
  /** Only what takes little time. */
  readonly isShort: boolean;
}

export type Program = ChildProcessByStdio<null, Readable, Readable>;

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The program finds the service in its environment, and prints an `Outcome` per line. */
export function startProgram({ file, args, cwd, env }: Command, service: ClientService): Program {
  return spawn(file, args, {
    ...(cwd !== undefined && { cwd }),
    env: {
      ...process.env,
      ...service.storeEnv,
      ...env,
      TILTYARD_URL: service.url,
      TILTYARD_API_KEY: service.key,
      TILTYARD_DATABASE: service.database,
      TILTYARD_SCRATCH: service.folder,
      TILTYARD_SERVICE: service.kind,
      TILTYARD_SHORT: service.isShort ? '1' : '',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // With its own children it is one group, which can be ended as a whole.
    detached: true,
  });
}

/** Ends the program and whatever it started. */
export function endProgram({ pid }: Program): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
