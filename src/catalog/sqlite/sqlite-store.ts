import { resolve } from 'node:path';
import { sql as expression } from 'kysely';
import type Database from 'libsql';
import pLimit from 'p-limit';
import { catalogUnavailable, changeInDoubt } from '../../model/refusals.ts';
import type { CatalogStore, Sql, TransactionOptions } from '../store.ts';
import { connect, disconnect } from './connections.ts';
import type { Connections } from './connections.ts';
import { createSqliteSql } from './driver.ts';
import { retryWhileBusy } from './errors.ts';
import { LogIndex, WriteAheadLog } from './write-ahead-log.ts';

export interface SqliteSettings {
  /** Its folder must exist; the file is created if missing. */
  readonly file: string;
  /** How long work waits for another process's lock before it is refused. */
  readonly busyTimeoutMilliseconds: number;
}

/** The catalog in one SQLite file. All code specific to SQLite is in this folder. */
export async function openSqliteStore(settings: SqliteSettings): Promise<SqliteStore> {
  // libsql takes a text such as "https:…" for the address of a server; an absolute path never looks like one.
  const file = resolve(settings.file);
  return new SqliteStore(await connect(file, settings.busyTimeoutMilliseconds), { ...settings, file });
}

/** SQLite's default is 1000 pages; our transactions change about four each. */
const CHECKPOINT_TRANSACTIONS = 256;

class SqliteStore implements CatalogStore {
  readonly binaryText = expression`text`;
  readonly clock = expression<number>`cast(unixepoch('subsec') * 1000 as integer)`;
  readonly #settings: SqliteSettings;
  readonly #connections: Connections;
  readonly #readSql: Sql;
  readonly #writeSql: Sql;
  readonly #dataVersion: Database.Statement;
  readonly #begin: Database.Statement;
  readonly #commit: Database.Statement;
  readonly #log: WriteAheadLog;
  readonly #logIndex: LogIndex;
  #changeCounter: number | undefined;
  /** One write transaction at a time, in order of arrival. */
  readonly #exclusive = pLimit(1);
  readonly #running = new Set<Promise<unknown>>();
  #transactionCount = 0;
  #checkpoint: Promise<unknown> | undefined;
  #closed: Promise<void> | undefined;

  constructor(connections: Connections, settings: SqliteSettings) {
    this.#settings = settings;
    this.#connections = connections;
    this.#readSql = createSqliteSql(connections.reader);
    this.#writeSql = createSqliteSql(connections.writer);
    this.#dataVersion = connections.writer.prepare('pragma data_version').raw();
    // `immediate`: a read transaction cannot be upgraded if another process has written meanwhile.
    this.#begin = connections.writer.prepare('begin immediate');
    this.#commit = connections.writer.prepare('commit');
    this.#log = new WriteAheadLog(`${settings.file}-wal`, async () => this.#emptyLog());
    this.#logIndex = new LogIndex(settings.file);
  }

  async read<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#finishBeforeClose(this.#attempt(async () => work(this.#readSql)));
  }

  async transact<T>(work: (sql: Sql) => Promise<T>, options: TransactionOptions = { isDurable: true }): Promise<T> {
    await this.#log.requireDurable();
    return this.#finishBeforeClose(this.#transact(work, options));
  }

  /** Only one connection can write at a time anyway. */
  async transactAlone<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.transact(work);
  }

  /**
   * SQLite's counter ignores a connection's own commits. Safe inside a transaction, where no other connection can
   * commit.
   */
  async readChangeCounter(): Promise<number> {
    if (this.#closed !== undefined || !this.#logIndex.isUnchanged()) this.#changeCounter = undefined;
    if (this.#changeCounter !== undefined) return this.#changeCounter;
    return this.#attempt(async () => {
      const row = this.#dataVersion.get();
      if (!Array.isArray(row) || typeof row[0] !== 'number') throw new TypeError('SQLite gave no data version.');
      this.#changeCounter = row[0];
      return row[0];
    });
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

  async #transact<T>(
    work: (sql: Sql) => Promise<T>,
    { isDurable, isOneStatement = false }: TransactionOptions,
  ): Promise<T> {
    const run = async (): Promise<T> => (isOneStatement ? work(this.#writeSql) : this.#runTransaction(work));
    const value = await this.#attempt(async () => this.#exclusive(run));
    this.#logIndex.passOwnCommit();
    this.#checkpointSometimes();
    try {
      if (isDurable) await this.#log.sync();
    } catch (error) {
      throw changeInDoubt(error);
    }
    return value;
  }

  async #runTransaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    this.#rollBack();
    this.#begin.run();
    try {
      const value = await work(this.#writeSql);
      this.#commit.run();
      return value;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  /** SQLite rolls back by itself after some errors, such as a full disk. */
  #rollBack(): void {
    const { writer } = this.#connections;
    if (writer.inTransaction) writer.exec('rollback');
  }

  /** Moves committed pages from the log to the database file, concurrently with readers and writers. */
  #checkpointSometimes(): void {
    this.#transactionCount += 1;
    if (this.#checkpoint !== undefined || this.#transactionCount % CHECKPOINT_TRANSACTIONS !== 0) return;
    const run = async (): Promise<unknown> => this.#connections.checkpointer.exec('pragma wal_checkpoint(passive)');
    this.#checkpoint = run()
      // Until the next checkpoint, the log only grows.
      .catch(() => {})
      .finally(() => {
        this.#checkpoint = undefined;
      });
  }

  async #emptyLog(): Promise<boolean> {
    await this.#checkpoint;
    const statement = await this.#connections.checkpointer.prepare('pragma wal_checkpoint(truncate)');
    const [row] = await statement.all([]);
    return typeof row === 'object' && row !== null && 'busy' in row && row.busy === 0;
  }

  async #attempt<T>(work: () => Promise<T>): Promise<T> {
    return retryWhileBusy(this.#settings.busyTimeoutMilliseconds, async () => {
      if (this.#closed !== undefined) throw catalogUnavailable(new Error('The catalog is closed.'));
      return work();
    });
  }

  async #finishBeforeClose<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work);
    try {
      return await work;
    } finally {
      this.#running.delete(work);
    }
  }

  async #finish(): Promise<void> {
    // The last connection to close deletes the log, which may contain commits that still have to be synced.
    await Promise.allSettled(this.#running);
    await this.#checkpoint;
    await this.#log.close();
    disconnect(this.#settings.file, this.#connections);
  }
}
