import { closeSync, existsSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, sql as expression } from 'kysely';
import Database from 'libsql';
import AsyncDatabase from 'libsql/promise';
import type { CatalogTables } from './rows.ts';
import { createSqliteDialect } from './sqlite-driver.ts';
import type { NativeConnection } from './sqlite-driver.ts';
import { catalogUnavailable, isBusy, translateSqliteError } from './sqlite-errors.ts';
import type { CatalogStore, Sql } from './store.ts';

export interface SqliteSettings {
  readonly file: string;
  /** How long work waits for another process's lock before it is refused. */
  readonly busyTimeoutMilliseconds: number;
}

const PAUSE_MILLISECONDS_MAX = 25;
const NO_VALUES: readonly unknown[] = [];

/** Everything that is SQLite's own stands here and in the other files named `sqlite-…`. */
export async function openSqliteStore(settings: SqliteSettings): Promise<CatalogStore> {
  // libsql takes a text such as "https:…" for a server's address; an absolute path is never one.
  const file = resolve(settings.file);
  const connections = await openConnections(file);
  try {
    await patiently(settings.busyTimeoutMilliseconds, async () => configure(connections));
  } catch (error) {
    closeAll(connections);
    throw error;
  }
  return new SqliteStore(connections, settings.busyTimeoutMilliseconds);
}

/**
 * Two, because a commit waits for the disk, in a thread, and nothing else can use its connection meanwhile. Readers see
 * the last commit and wait for nobody.
 */
interface Connections {
  readonly reader: Database.Database;
  readonly writer: NativeConnection & { close(): void };
}

class SqliteStore implements CatalogStore {
  readonly binaryText = expression`text`;
  readonly #connections: Connections;
  readonly #readSql: Sql;
  readonly #writeSql: Sql;
  readonly #busyMilliseconds: number;
  readonly #dataVersion: Database.Statement;
  #closed: Promise<void> | undefined;

  constructor(connections: Connections, busyMilliseconds: number) {
    this.#connections = connections;
    this.#readSql = new Kysely<CatalogTables>({ dialect: createSqliteDialect(connections.reader) });
    this.#writeSql = new Kysely<CatalogTables>({ dialect: createSqliteDialect(connections.writer) });
    this.#busyMilliseconds = busyMilliseconds;
    this.#dataVersion = connections.reader.prepare('pragma data_version').raw();
  }

  async read<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#run(async () => work(this.#readSql));
  }

  async transact<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#run(async () => this.#writeSql.transaction().execute(work));
  }

  /** Only one connection can write at a time in any case. */
  async transactAlone<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.transact(work);
  }

  /** SQLite counts what other connections commit; the reader commits nothing, so to it that is everything. */
  async commitMark(): Promise<number> {
    return this.#run(async () => this.#readDataVersion());
  }

  async close(): Promise<void> {
    this.#closed ??= this.#finish();
    await this.#closed;
  }

  #readDataVersion(): number {
    const row = this.#dataVersion.get(NO_VALUES);
    if (Array.isArray(row) && typeof row[0] === 'number') return row[0];
    throw new TypeError('SQLite gave no data version.');
  }

  async #finish(): Promise<void> {
    await Promise.all([this.#readSql.destroy(), this.#writeSql.destroy()]);
    closeAll(this.#connections);
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    return patiently(this.#busyMilliseconds, async () => {
      if (this.#closed !== undefined) throw catalogUnavailable(new Error('The catalog is closed.'));
      return work();
    });
  }
}

async function openConnections(file: string): Promise<Connections> {
  try {
    createWhenMissing(file);
    await syncFolder(dirname(file));
    return { reader: new Database(file), writer: new AsyncDatabase(file, {}) };
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

async function configure({ reader, writer }: Connections): Promise<void> {
  // Waiting inside SQLite would stop the whole process, so it waits not at all: `patiently` does.
  reader.exec('pragma busy_timeout = 0');
  await writer.exec('pragma busy_timeout = 0');
  const [mode] = reader.prepare('pragma journal_mode = wal').raw().all();
  if (!Array.isArray(mode) || mode[0] !== 'wal') {
    throw catalogUnavailable(new Error('The storage of the catalog does not allow write-ahead logging.'));
  }
  reader.exec('pragma query_only = on');
  await writer.exec('pragma synchronous = full');
  await writer.exec('pragma foreign_keys = on');
  await writer.exec('pragma trusted_schema = off');
  await writer.exec('pragma wal_autocheckpoint = 1000');
}

function closeAll({ reader, writer }: Connections): void {
  reader.close();
  writer.close();
}

/** Tries again for as long as another connection holds the lock, and leaves the event loop free in between. */
async function patiently<T>(milliseconds: number, work: () => Promise<T>): Promise<T> {
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
