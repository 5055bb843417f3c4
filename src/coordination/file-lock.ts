import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import Database from 'libsql';

/** Held until it is closed or the process ends, however it ends. */
export interface FileLock {
  /** Whether the locked file is still at its path; if not, another process can lock a new file there. */
  isInPlace(): boolean;
  close(): void;
}

const BUSY = 5;

/**
 * Takes an exclusive lock on a file; `undefined` if another holder has it. Node has no file locks, so this is an open
 * SQLite transaction: the operating system releases its lock when the process dies. Nothing is ever written, so it also
 * works on a full disk. No other code may open or remove the file: POSIX drops all locks that a process has on a file
 * as soon as it closes any descriptor of it.
 */
export function tryLockFile(path: string): FileLock | undefined {
  const file = resolve(path);
  createIfMissing(file);
  // On a read-only file system, SQLite would take a shared lock instead of an exclusive one.
  accessSync(file, constants.R_OK | constants.W_OK);
  const connection = new Database(file);
  try {
    connection.exec('pragma busy_timeout = 0');
    // The default journal is a file, which cannot be created on a full disk.
    connection.exec('pragma journal_mode = memory');
    connection.exec('begin exclusive');
    const locked = identify(file);
    return { isInPlace: () => identify(file) === locked, close: () => connection.close() };
  } catch (error) {
    connection.close();
    if (sqliteCode(error) === BUSY) return undefined;
    throw error;
  }
}

/** Readable only by its owner, so that only the owner can lock it. Never opens an existing file: see above. */
function createIfMissing(file: string): void {
  try {
    closeSync(openSync(file, 'ax', 0o600));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

/** The lock keeps its file open, so no other file gets the same inode number. `undefined` if the file is missing. */
function identify(file: string): string | undefined {
  try {
    const { dev, ino } = statSync(file);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

/** The primary result code of SQLite, in the low byte. https://www.sqlite.org/rescode.html */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('rawCode' in error) || typeof error.rawCode !== 'number') return undefined;
  return error.rawCode & 0xff;
}
