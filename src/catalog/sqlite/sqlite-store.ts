import { closeSync, existsSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, sql as expression } from 'kysely';
import Database from 'libsql';
import AsyncDatabase from 'libsql/promise';
import type { CatalogTables } from '../schema/rows.ts';
import { createSqliteDialect } from './driver.ts';
import type { NativeConnection } from './driver.ts';
import { catalogUnavailable, isBusy, mayLackSpace, translateSqliteError } from './errors.ts';
import { releaseReserve, keepReserve } from './connections.ts';
import type { CatalogStore, Sql } from '../store.ts';
import { WriteAheadLog } from './write-ahead-log.ts';

export interface SqliteSettings {
  readonly file: string;
  /** How long work waits for another process's lock before it is refused. */
  readonly busyTimeoutMilliseconds: number;
}

const PAUSE_MILLISECONDS_MAX = 25;
const NO_VALUES: readonly unknown[] = [];
const PASSIVE_CHECKPOINT = 'pragma wal_checkpoint(passive)';
const TRUNCATING_CHECKPOINT = 'pragma wal_checkpoint(truncate)';

/** Everything that is SQLite's own stands here and in the other files named `sqlite-…`. */
export async function openSqliteStore(settings: SqliteSettings): Promise<CatalogStore> {
  // libsql takes a text such as "https:…" for a server's address; an absolute path is never one.
  const file = resolve(settings.file);
  const { busyTimeoutMilliseconds } = settings;
  const connections = await connect(file, busyTimeoutMilliseconds).catch(async (error: unknown) => {
    if (!mayLackSpace(error) || !releaseReserve(file)) throw error;
    return connect(file, busyTimeoutMilliseconds);
  });
  keepReserve(file);
  return new SqliteStore(connections, { file, busyTimeoutMilliseconds });
}

async function connect(file: string, busyMilliseconds: number): Promise<Connections> {
  const connections = await openConnections(file);
  try {
    await retryWhileBusy(busyMilliseconds, async () => configure(connections));
    return connections;
  } catch (error) {
    closeAll(connections);
    throw error;
  }
}

/**
 * The reader and the writer work on the event loop: a commit is one write to the page cache, and a thread would cost more
 * than it saves. What waits for the disk runs in threads: the sync of the write-ahead log, and its checkpoints.
 */
interface Connections {
  readonly reader: Database.Database;
  readonly writer: Database.Database;
  readonly checkpointer: NativeConnection & { close(): void };
}

/** SQLite's own rule is 1000 pages; a transaction of ours changes about four. */
const CHECKPOINT_TRANSACTIONS = 256;

class SqliteStore implements CatalogStore {
  readonly binaryText = expression`text`;
  readonly #connections: Connections;
  readonly #readSql: Sql;
  readonly #writeSql: Sql;
  readonly #log: WriteAheadLog;
  readonly #file: string;
  readonly #busyMilliseconds: number;
  readonly #dataVersion: Database.Statement;
  #transactionCount = 0;
  #checkpoint: Promise<void> | undefined;
  readonly #transactions = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  constructor(connections: Connections, { file, busyTimeoutMilliseconds }: SqliteSettings) {
    this.#connections = connections;
    this.#log = new WriteAheadLog(`${file}-wal`, async () => this.#emptyLog());
    this.#readSql = new Kysely<CatalogTables>({ dialect: createSqliteDialect(connections.reader) });
    this.#writeSql = new Kysely<CatalogTables>({ dialect: createSqliteDialect(connections.writer) });
    this.#file = file;
    this.#busyMilliseconds = busyTimeoutMilliseconds;
    this.#dataVersion = connections.reader.prepare('pragma data_version').raw();
  }

  async read<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#run(async () => work(this.#readSql));
  }

  async transact<T>(work: (sql: Sql) => Promise<T>, { isDurable } = { isDurable: true }): Promise<T> {
    await this.#log.requireDurable();
    const transaction = this.#transact(work, isDurable);
    this.#transactions.add(transaction);
    try {
      return await transaction;
    } finally {
      this.#transactions.delete(transaction);
    }
  }

  /** Only one connection can write at a time in any case. */
  async transactAlone<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.transact(work);
  }

  /** SQLite counts what other connections commit; the reader commits nothing, so to it that is everything. */
  async readChangeCounter(): Promise<number> {
    return this.#run(async () => this.#readDataVersion());
  }

  async requireDurable(): Promise<void> {
    await this.#log.requireDurable();
  }

  syncCount(): number {
    return this.#log.count;
  }

  async close(): Promise<void> {
    this.#closed ??= this.#finish();
    await this.#closed;
  }

  /** Moves what is committed from the log to the database file, beside readers and writers. */
  #checkpointSometimes(): void {
    this.#transactionCount += 1;
    if (this.#checkpoint !== undefined || this.#transactionCount % CHECKPOINT_TRANSACTIONS !== 0) return;
    const run = async (): Promise<void> => void (await this.#connections.checkpointer.exec(PASSIVE_CHECKPOINT));
    this.#checkpoint = run()
      // The log only grows until the next one.
      .catch(() => {})
      .finally(() => {
        this.#checkpoint = undefined;
      });
  }

  async #emptyLog(): Promise<boolean> {
    await this.#checkpoint;
    const statement = await this.#connections.checkpointer.prepare(TRUNCATING_CHECKPOINT);
    const [row] = await statement.all([]);
    return typeof row === 'object' && row !== null && 'busy' in row && row.busy === 0;
  }

  #readDataVersion(): number {
    const row = this.#dataVersion.get(NO_VALUES);
    if (Array.isArray(row) && typeof row[0] === 'number') return row[0];
    throw new TypeError('SQLite gave no data version.');
  }

  async #transact<T>(work: (sql: Sql) => Promise<T>, isDurable: boolean): Promise<T> {
    const value = await this.#run(async () => this.#writeSql.transaction().execute(work));
    this.#checkpointSometimes();
    if (isDurable) await this.#log.sync();
    return value;
  }

  async #finish(): Promise<void> {
    // The last connection to close takes the log away, which those that are committed still have to sync.
    await Promise.allSettled(this.#transactions);
    await Promise.all([this.#readSql.destroy(), this.#writeSql.destroy()]);
    await this.#checkpoint;
    await this.#log.close();
    closeAll(this.#connections);
    // Right after SQLite has removed its files there is space for it, also on a full disk.
    keepReserve(this.#file);
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    return retryWhileBusy(this.#busyMilliseconds, async () => {
      if (this.#closed !== undefined) throw catalogUnavailable(new Error('The catalog is closed.'));
      return work();
    });
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
 * The file is made here, not by libsql, so that from its first moment nobody else may read the digests in it. One that is
 * there is not opened: to close it again would undo every lock that connections of this process have on it. For the same
 * reason it all happens before any other code can run. https://www.sqlite.org/howtocorrupt.html, section 2.2
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
  // Waiting inside SQLite would stop the whole process, so it waits not at all: `retryWhileBusy` does.
  reader.exec('pragma busy_timeout = 0');
  writer.exec('pragma busy_timeout = 0');
  await checkpointer.exec('pragma busy_timeout = 0');
  const [mode] = reader.prepare('pragma journal_mode = wal').raw().all();
  if (!Array.isArray(mode) || mode[0] !== 'wal') {
    throw catalogUnavailable(new Error('The storage of the catalog does not allow write-ahead logging.'));
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

/** Tries again for as long as another connection holds the lock, and leaves the event loop free in between. */
async function retryWhileBusy<T>(milliseconds: number, work: () => Promise<T>): Promise<T> {
  let deadline: number | undefined;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      deadline ??= performance.now() + milliseconds;
      if (!isBusy(error) || performance.now() >= deadline) throw translateSqliteError(error);
    }
    // Uneven pauses, lest two processes keep missing each other's gaps.
    await sleep(Math.min(attempt, PAUSE_MILLISECONDS_MAX) * (0.5 + Math.random()));
  }
}
