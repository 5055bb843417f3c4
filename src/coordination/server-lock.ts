import { closeSync, constants, existsSync, openSync, readFileSync, realpathSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Catalog } from '../catalog/catalog.ts';
import { ServiceError } from '../errors/service-error.ts';
import { SHUTDOWN_GRACE_SECONDS } from '../model/limits.ts';
import { createFolder } from '../model/storage/create-folder.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { tryLockFile } from './file-lock.ts';
import type { FileLock } from './file-lock.ts';

/** Describes the holder of a lock, for people, for waiting servers and for commands. */
interface LockHolder {
  /** The process to signal: the supervisor. */
  readonly pid: number;
  readonly host: string;
  /** Where it listens, such as `127.0.0.1:2333`. */
  readonly address: string;
  /** For commands on this machine; read by `cli/find-server.ts`. */
  readonly url?: string;
  readonly startedAt: string;
  readonly state: 'serving' | 'draining';
  /** How long its shutdown may take. */
  readonly drainSeconds: number;
}

interface ServerLockSettings {
  readonly data: string;
  readonly catalogFile: string;
  /** The storage root of the default database. */
  readonly root?: string;
  /** How long to wait for a holder that is not shutting down. */
  readonly waitSeconds: number;
  /** This server, as other servers see it. */
  readonly holder: Omit<LockHolder, 'state'>;
  readonly telemetry?: Telemetry;
}

const DATA_LOCK = 'server.lock';
const ROOT_LOCK = '.tiltyard.lock';
const RETRY_MILLISECONDS = 50;
/** Allowed between the end of a shutdown and the release of the lock. */
const RELEASE_SECONDS = 5;
const LOST_RETRY_SECONDS = 5;

interface LockedRoot {
  readonly file: string;
  /** The folder without links, where a link could lead elsewhere without a change of the lock file. */
  readonly leadsTo: string | undefined;
}

/**
 * Only one server may write to a data folder and to a local storage root: two servers would mistake each other's
 * commits for their own and undo each other's running writes. Object stores have no such lock.
 */
export class ServerLock {
  readonly #settings: ServerLockSettings;
  readonly #locks = new Map<string, FileLock>();
  /** The locks of the data folder and the catalog, which every write needs. */
  #own: readonly string[] = [];
  /** The lock files and storage roots that are no longer in place. */
  readonly #lost = new Set<string>();
  /** Storage roots that only this server writes to. */
  readonly #roots = new Map<string, LockedRoot>();

  private constructor(settings: ServerLockSettings) {
    this.#settings = settings;
  }

  /** Locks the data folder, the root, and the catalog file if it is elsewhere. Waits for a server that is shutting down. */
  static async acquire(settings: ServerLockSettings): Promise<ServerLock> {
    const lock = new ServerLock(settings);
    const { data, catalogFile, root } = settings;
    try {
      await lock.#wait(`data folder ${data}`, () => {
        createFolder(data, 0o700);
        return lock.#lock(join(data, DATA_LOCK));
      });
      if (!catalogFile.startsWith(`${data}/`)) {
        await lock.#wait(`catalog ${catalogFile}`, () => lock.#lock(`${catalogFile}.lock`));
      }
      lock.#own = [...lock.#locks.keys()];
      if (root !== undefined) await lock.acquireRoot(root);
    } catch (error) {
      lock.close();
      throw error;
    }
    return lock;
  }

  /** Waits for the lock of a root, as for that of the data folder. */
  async acquireRoot(root: string): Promise<void> {
    if (!this.#isOurs(root)) await this.#wait(`storage root ${root}`, () => this.#lockRoot(root));
  }

  /**
   * Locks the roots that only the catalog knows. A root that another server uses prevents the start. A root that cannot
   * be locked does not: its tables can be read, and writes to them are refused until it can be locked.
   */
  async acquireDatabases(catalog: Pick<Catalog, 'databases'>, telemetry: Telemetry): Promise<void> {
    for (const { name, root } of await catalog.databases.list()) {
      try {
        await this.acquireRoot(root);
      } catch (cause) {
        const isUnlockable = cause instanceof ServiceError && cause.cause !== undefined;
        if (!isUnlockable) throw cause;
        telemetry.emit({ kind: 'background-failed', task: `locking the storage root of the database ${name}`, cause });
      }
    }
  }

  /** For a root that is added while the server runs: does not wait. A locked root only has its lock file checked. */
  requireRoot(root: string): void {
    if (!this.#isOurs(root)) {
      const usedBy = attempt(`storage root ${root}`, () => this.#lockRoot(root));
      if (usedBy !== undefined) throw inUse(`storage root ${root}`, usedBy);
    }
    // The storage refuses a root that is missing.
    if (this.#isRootLost(root) && existsSync(root)) throw new Error(`The storage root ${root} was replaced.`);
  }

  requireHeld(): void {
    if (this.#own.some((file) => this.#isLost(file))) throw folderLost();
  }

  /** Whether another server could lock what has replaced the data folder, the catalog or the storage root. */
  isLost(): boolean {
    const { root = '' } = this.#settings;
    return this.#own.some((file) => this.#isLost(file)) || this.#isRootLost(root);
  }

  /** Makes a starting server wait for the end of this one. */
  markDraining(): void {
    for (const file of this.#locks.keys()) {
      if (!this.#isLost(file)) writeHolder(file, { ...this.#settings.holder, state: 'draining' });
    }
  }

  close(): void {
    for (const lock of this.#locks.values()) lock.close();
    this.#locks.clear();
    this.#roots.clear();
  }

  #isOurs(root: string): boolean {
    return this.#roots.has(root) || root.includes('://');
  }

  #isRootLost(root: string): boolean {
    const locked = this.#roots.get(root);
    if (locked === undefined) return false;
    const { file, leadsTo } = locked;
    return this.#isLost(file) || (leadsTo !== undefined && this.#note(root, resolveFolder(root) !== leadsTo));
  }

  #isLost(file: string): boolean {
    return this.#note(file, this.#locks.get(file)?.isInPlace() === false);
  }

  /** A folder that was moved away may come back, with the same file. */
  #note(path: string, isLost: boolean): boolean {
    if (!isLost) this.#lost.delete(path);
    else if (!this.#lost.has(path)) this.#reportLoss(path);
    return isLost;
  }

  #reportLoss(path: string): void {
    this.#lost.add(path);
    const cause = new Error(
      'Its folder was removed or replaced. Put it back, or restart the server: writes are paused.',
    );
    this.#settings.telemetry?.emit({ kind: 'background-failed', task: `keeping the lock ${path}`, cause });
  }

  async #wait(name: string, lock: () => string | undefined): Promise<void> {
    const startedAt = performance.now();
    for (;;) {
      const usedBy = attempt(name, lock);
      if (usedBy === undefined) return;
      const waitedSeconds = (performance.now() - startedAt) / 1000;
      if (waitedSeconds >= this.#waitSecondsFor(readHolder(usedBy))) throw inUse(name, usedBy);
      await sleep(RETRY_MILLISECONDS);
    }
  }

  #waitSecondsFor(other: LockHolder | undefined): number {
    const { waitSeconds } = this.#settings;
    if (other?.state !== 'draining') return waitSeconds;
    return Math.max(waitSeconds, other.drainSeconds + SHUTDOWN_GRACE_SECONDS + RELEASE_SECONDS);
  }

  /** Returns the lock file if another server holds it; `undefined` if the lock is ours. */
  #lock(file: string): string | undefined {
    if (this.#locks.has(file)) return undefined;
    const lock = tryLockFile(file);
    if (lock === undefined) return file;
    this.#locks.set(file, lock);
    writeHolder(file, { ...this.#settings.holder, state: 'serving' });
    return undefined;
  }

  /**
   * The lock of a root covers the folders below it, so thousands of databases need only one lock. A server therefore
   * first locks its own root, then checks those above and below: if two start at once, one sees the other.
   */
  #lockRoot(root: string): string | undefined {
    if (!existsSync(root)) {
      // Only the first start creates it: a root that is missing later was moved away or is not mounted.
      if (existsSync(this.#settings.catalogFile)) return undefined;
      createFolder(root);
    }
    const folder = realpathSync(root);
    const file = join(folder, ROOT_LOCK);
    const covering = foldersAbove(folder).map((outer) => join(outer, ROOT_LOCK));
    const outer = covering.find((each) => this.#locks.has(each));
    const usedBy = outer === undefined ? (this.#lock(file) ?? this.#findOuter(file)) : findHeld([file]);
    if (usedBy === undefined) {
      const leadsTo = outer === undefined && folder === root ? undefined : folder;
      this.#roots.set(root, { file: outer ?? file, leadsTo });
    }
    return usedBy;
  }

  #findOuter(file: string): string | undefined {
    const usedBy = findHeld(foldersAbove(dirname(file)).map((folder) => join(folder, ROOT_LOCK)));
    if (usedBy === undefined) return undefined;
    this.#locks.get(file)?.close();
    this.#locks.delete(file);
    return usedBy;
  }
}

/** `undefined`: there is no folder. */
function resolveFolder(root: string): string | undefined {
  try {
    return realpathSync.native(root);
  } catch {
    return undefined;
  }
}

function findHeld(files: readonly string[]): string | undefined {
  return files.filter((file) => existsSync(file)).find((file) => isHeld(file));
}

function isHeld(file: string): boolean {
  try {
    const lock = tryLockFile(file);
    lock?.close();
    return lock === undefined;
  } catch {
    // A lock file that this user may not open, perhaps left behind long ago.
    return false;
  }
}

function foldersAbove(folder: string): readonly string[] {
  const above: string[] = [];
  for (let at = folder; at !== dirname(at);) above.push((at = dirname(at)));
  return above;
}

function attempt(name: string, lock: () => string | undefined): string | undefined {
  try {
    return lock();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ServiceError('ServiceUnavailable', `The ${name} cannot be locked for writing: ${reason}.`, {
      hint: /^(?:EEXIST|ENOTDIR)\b/.test(reason)
        ? 'There is a file at that path, or above it: choose a folder.'
        : 'The server needs permission to create and write files there.',
      cause,
    });
  }
}

function folderLost(): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The data folder of the server was removed or replaced.', {
    hint: 'Writes are paused until it is back, or the server is restarted.',
    retryAfterSeconds: LOST_RETRY_SECONDS,
  });
}

function inUse(name: string, lockFile: string): ServiceError {
  return new ServiceError('ServiceUnavailable', `The ${name} is in use by ${describeHolder(readHolder(lockFile))}.`, {
    hint: 'Stop that server first, or use another folder.',
  });
}

function describeHolder(holder: LockHolder | undefined): string {
  if (holder === undefined) return 'another process';
  const { pid, host, address, startedAt, state } = holder;
  const action = state === 'draining' ? ', shutting down' : '';
  return `another Tiltyard server (process ${pid} on ${host}, listening on ${address} since ${startedAt}${action})`;
}

/** A fixed size: on a full disk, existing bytes can still be overwritten. */
const HOLDER_BYTES = 1024;

/** Stored next to the lock, because the lock file itself must not be opened. */
function holderFile(lockFile: string): string {
  return `${lockFile}.json`;
}

/** For information only: failing to write it does not affect the lock. */
function writeHolder(lockFile: string, holder: LockHolder): void {
  let file: number | undefined;
  try {
    file = openSync(holderFile(lockFile), constants.O_RDWR | constants.O_CREAT, 0o600);
    writeSync(file, `${JSON.stringify(holder)}\n`.padEnd(HOLDER_BYTES), 0);
  } catch {
    // The lock holds without it.
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** `undefined` if the file is missing or unreadable. */
function readHolder(lockFile: string): LockHolder | undefined {
  try {
    const holder: unknown = JSON.parse(readFileSync(holderFile(lockFile), 'utf8'));
    return isHolder(holder) ? holder : undefined;
  } catch {
    return undefined;
  }
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
