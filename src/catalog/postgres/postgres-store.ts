import { PostgresDialect, sql as expression } from 'kysely';
import pg from 'pg';
import { changeInDoubt } from '../../model/refusals.ts';
import { requireStorableText } from '../errors.ts';
import { createSql } from '../store.ts';
import type { CatalogStore, Sql } from '../store.ts';
import { explainUnreachable, isRefusedStatement, isUnsent, retryWhileAway } from './errors.ts';

export interface PostgresSettings {
  /** `postgres://user:password@host:port/database`, with server options as its query. */
  readonly url: string;
  /** Connections of this process for reads; one more is for writes. */
  readonly connectionsMax: number;
  /** How long work waits for the server, or for another process's transaction, before it is refused. */
  readonly waitMilliseconds: number;
}

/** The catalog in a PostgreSQL database. All code specific to PostgreSQL is in this folder. */
export async function openPostgresStore(settings: PostgresSettings): Promise<CatalogStore> {
  const store = new PostgresStore(settings);
  try {
    await store.read(async (sql) => expression`select 1`.execute(sql));
  } catch (error) {
    await store.close();
    throw explainUnreachable(error, settings.url);
  }
  return store;
}

/** An arbitrary number that no other program uses for advisory locks in this database. */
const WRITER_LOCK = 8_413_046_217;

/**
 * One transaction at a time in the whole cluster, as with SQLite: the catalog is small, transactions are short, and
 * waiting work shares the next one. So transaction ids grow in commit order, and no transaction has to be retried
 * because of another. Read committed, whatever the database's default: each statement sees what was committed before
 * the lock.
 */
const BEGIN = `begin isolation level read committed; select pg_advisory_xact_lock(${WRITER_LOCK})`;

class PostgresStore implements CatalogStore {
  readonly binaryText = expression`text collate "C"`;
  readonly clock = expression<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;
  readonly #settings: PostgresSettings;
  readonly #readers: pg.Pool;
  readonly #writer: pg.Pool;
  readonly #readSql: Sql;
  /** By connection, because each keeps its compiled statements. */
  readonly #writeSql = new WeakMap<pg.PoolClient, Sql>();
  #commits = 0;

  constructor(settings: PostgresSettings) {
    this.#settings = settings;
    this.#readers = openPool(settings, settings.connectionsMax);
    this.#writer = openPool(settings, 1);
    this.#readSql = toKysely(async () => toConnection(await this.#readers.connect()));
  }

  async read<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return retryWhileAway(this.#settings.waitMilliseconds, async () => work(this.#readSql));
  }

  /** Always durable: a commit that PostgreSQL confirms is on its disk. */
  async transact<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return retryWhileAway(this.#settings.waitMilliseconds, async () => this.#runTransaction(work));
  }

  async transactAlone<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.transact(work);
  }

  async requireDurable(): Promise<void> {}

  syncCount(): number {
    return this.#commits;
  }

  async close(): Promise<void> {
    if (this.#writer.ending) return;
    await Promise.all([this.#writer.end(), this.#readers.end()]);
  }

  async #runTransaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await this.#writer.connect();
    let isBroken = true;
    try {
      await client.query(BEGIN);
      const value = await work(this.#sqlOf(client));
      await commit(client);
      this.#commits += 1;
      isBroken = false;
      return value;
    } catch (error) {
      isBroken = await client.query('rollback').then(
        () => false,
        () => true,
      );
      throw error;
    } finally {
      client.release(isBroken);
    }
  }

  #sqlOf(client: pg.PoolClient): Sql {
    let sql = this.#writeSql.get(client);
    if (sql === undefined) {
      // Kysely releases a connection after each statement; a transaction keeps it.
      const connection = { ...toConnection(client), release: () => {} };
      sql = toKysely(async () => connection);
      this.#writeSql.set(client, sql);
    }
    return sql;
  }
}

function openPool({ url, waitMilliseconds }: PostgresSettings, max: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    application_name: 'tiltyard',
    connectionTimeoutMillis: waitMilliseconds,
    // A server that has gone sends nothing, so only the client can notice.
    query_timeout: waitMilliseconds,
    lock_timeout: waitMilliseconds,
    // A process that pauses inside a transaction must not block all others.
    idle_in_transaction_session_timeout: IDLE_MILLISECONDS,
    keepAlive: true,
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') => (oid === INT8 ? Number : getTypeParser(oid, format)),
    },
  });
  // The next statement on a broken connection fails too, and reports it.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

const IDLE_MILLISECONDS = 1000;
const INT8: number = pg.types.builtins.INT8;
const { getTypeParser } = pg.types;

interface Connection {
  readonly query: (text: string, values: readonly unknown[]) => Promise<pg.QueryResult>;
  readonly release: () => void;
}

function toConnection(client: pg.PoolClient): Connection {
  let isBroken = false;
  return {
    async query(text, values) {
      for (const value of values) if (typeof value === 'string') requireStorableText(value);
      try {
        return await client.query(text, [...values]);
      } catch (error) {
        isBroken ||= !isRefusedStatement(error);
        throw error;
      }
    },
    release: () => client.release(isBroken),
  };
}

function toKysely(connect: () => Promise<Connection>): Sql {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Kysely calls only these two, and no cursors.
  const pool = { connect, end: async () => {} } as unknown as pg.Pool;
  return createSql(new PostgresDialect({ pool }));
}

/** Once sent, only the server's reply shows whether the transaction was committed. */
async function commit(client: pg.PoolClient): Promise<void> {
  try {
    await client.query('commit');
  } catch (error) {
    if (isRefusedStatement(error) || isUnsent(error)) throw error;
    throw changeInDoubt(error);
  }
}
