import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs';

/** Who holds a lock, for people and for a server that waits for it. */
export interface LockHolder {
  /** Of the process that a signal stops: the supervisor. */
  readonly pid: number;
  readonly host: string;
  /** Where it listens, such as `127.0.0.1:2333`. */
  readonly address: string;
  readonly startedAt: string;
  readonly state: 'serving' | 'draining';
  /** How long its shutdown may take. */
  readonly drainSeconds: number;
}

/** Always as many bytes: a full disk still takes what replaces bytes that are there. */
const FILE_BYTES = 1024;

/** Beside the lock, because the lock file itself must not be opened. */
export function holderFile(lockFile: string): string {
  return `${lockFile}.json`;
}

/** Only information: that it cannot be written changes nothing about the lock. */
export function writeHolder(lockFile: string, holder: LockHolder): void {
  let file: number | undefined;
  try {
    file = openSync(holderFile(lockFile), constants.O_RDWR | constants.O_CREAT, 0o600);
    writeSync(file, `${JSON.stringify(holder)}\n`.padEnd(FILE_BYTES), 0);
  } catch {
    // The lock holds without it.
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** `undefined` when nothing readable is there. */
export function readHolder(lockFile: string): LockHolder | undefined {
  try {
    const holder: unknown = JSON.parse(readFileSync(holderFile(lockFile), 'utf8'));
    return isHolder(holder) ? holder : undefined;
  } catch {
    return undefined;
  }
}

export function describeHolder(holder: LockHolder | undefined): string {
  if (holder === undefined) return 'another process';
  const { pid, host, address, startedAt, state } = holder;
  const action = state === 'draining' ? ', shutting down' : '';
  return `another Tiltyard server (process ${pid} on ${host}, listening on ${address} since ${startedAt}${action})`;
}

function isHolder(value: unknown): value is LockHolder {
  if (typeof value !== 'object' || value === null) return false;
  const { pid, host, address, startedAt, state, drainSeconds }: Partial<Record<keyof LockHolder, unknown>> = value;
  return (
    typeof pid === 'number' &&
    typeof drainSeconds === 'number' &&
    [host, address, startedAt].every((text) => typeof text === 'string') &&
    (state === 'serving' || state === 'draining')
  );
}
