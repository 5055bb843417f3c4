import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import Database from 'libsql';
import AsyncDatabase from 'libsql/promise';
import { catalogUnavailable } from '../../model/refusals.ts';
import { mayLackSpace, retryWhileBusy } from './errors.ts';

/**
 * The reader and the writer run on the event loop: a commit is one write to the page cache, and a thread would cost
 * more than it saves. Work that waits for the disk runs in threads: syncs of the write-ahead log and its checkpoints.
 */
export interface Connections {
  readonly reader: Database.Database;
  readonly writer: Database.Database;
  readonly checkpointer: ThreadedConnection;
}

/** The thread API of `libsql/promise`, which is hardly typed. */
interface ThreadedConnection {
  exec(sql: string): Promise<unknown>;
  prepare(sql: string): Promise<{ all(values: readonly unknown[]): Promise<readonly unknown[]> }>;
  close(): void;
}

/** On a full disk, gives up the reserve to connect. */
export async function connect(file: string, busyMilliseconds: number): Promise<Connections> {
  const connections = await tryConnect(file, busyMilliseconds).catch(async (error: unknown) => {
    const reserve = `${file}-reserve`;
    if (!mayLackSpace(error) || !existsSync(reserve)) throw error;
    rmSync(reserve);
    return tryConnect(file, busyMilliseconds);
  });
  keepReserve(file);
  return connections;
}

export function disconnect(file: string, connections: Connections): void {
  closeAll(connections);
  // SQLite has just removed its files, so there is space for it even on a full disk.
  keepReserve(file);
}

const RESERVE_BYTES = 256 * 1024;

/**
 * Space to give up on a full disk, so that the catalog can be opened: SQLite needs 32 KiB for the index of its
 * write-ahead log, and deletes that file when the last connection closes. Random bytes, because some file systems do
 * not store zeros. Lack of space for it is not an error.
 */
export function keepReserve(catalogFile: string): void {
  const file = `${catalogFile}-reserve`;
  try {
    if (statSync(file, { throwIfNoEntry: false })?.size === RESERVE_BYTES) return;
    writeFileSync(file, randomBytes(RESERVE_BYTES), { mode: 0o600 });
  } catch {
    rmSync(file, { force: true });
  }
}

async function tryConnect(file: string, busyMilliseconds: number): Promise<Connections> {
  const connections = await openConnections(file);
  try {
    await retryWhileBusy(busyMilliseconds, async () => configure(connections));
    return connections;
  } catch (error) {
    closeAll(connections);
    throw error;
  }
}

async function openConnections(file: string): Promise<Connections> {
  try {
    createWhenMissing(file);
    await syncFolder(dirname(file));
    return { reader: new Database(file), writer: new Database(file), checkpointer: new AsyncDatabase(file, {}) };
  } catch (error) {
    throw catalogUnavailable(error);
  }
}

/**
 * Creates the file before libsql does, so that no other user can ever read its digests. An existing file is not opened:
 * closing it would drop every lock that connections of this process have on it. For the same reason this is
 * synchronous. https://www.sqlite.org/howtocorrupt.html, section 2.2
 */
function createWhenMissing(file: string): void {
  try {
    closeSync(openSync(file, 'ax', 0o600));
  } catch (error) {
    if (!existsSync(file)) throw error;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function configure({ reader, writer, checkpointer }: Connections): Promise<void> {
  // Waiting inside SQLite would block the whole process: `retryWhileBusy` waits instead.
  reader.exec('pragma busy_timeout = 0');
  writer.exec('pragma busy_timeout = 0');
  await checkpointer.exec('pragma busy_timeout = 0');
  const [mode] = reader.prepare('pragma journal_mode = wal').raw().all();
  if (!Array.isArray(mode) || mode[0] !== 'wal') {
    throw catalogUnavailable(new Error('The disk of the catalog does not support write-ahead logging.'));
  }
  reader.exec('pragma query_only = on');
  // Commits append to the write-ahead log without waiting for the disk; `WriteAheadLog.sync` makes them durable.
  writer.exec('pragma synchronous = normal');
  writer.exec('pragma wal_autocheckpoint = 0');
  writer.exec('pragma foreign_keys = on');
  writer.exec('pragma trusted_schema = off');
}

function closeAll({ reader, writer, checkpointer }: Connections): void {
  reader.close();
  checkpointer.close();
  writer.close();
}
