import { CamelCasePlugin, Kysely } from 'kysely';
import type { CompiledQuery, Dialect, RawBuilder } from 'kysely';
import type { CatalogTables } from './schema/rows.ts';

export type Sql = Kysely<CatalogTables>;

export interface DirectQuery extends Pick<CompiledQuery, 'sql' | 'parameters'> {
  /** The statement returns at most one row. */
  readonly isOneRow?: boolean;
}

/** Runs a compiled statement and returns its rows, with the column names of the database. */
export type RunDirectly = (query: DirectQuery) => readonly unknown[];

const direct = new WeakMap<Sql, RunDirectly>();

/** `runDirectly` skips the layers above an in-process database, which cost more than a statement. */
export function createSql(dialect: Dialect, runDirectly?: RunDirectly): Sql {
  const sql = new Kysely<CatalogTables>({ dialect, plugins: [new CamelCasePlugin()] });
  if (runDirectly !== undefined) direct.set(sql, runDirectly);
  return sql;
}

/** `undefined`: `sql` itself runs the statements. */
export function findDirect(sql: Sql): RunDirectly | undefined {
  return direct.get(sql);
}

/** Well below the number of values that a statement allows. */
const PART = 1000;

export async function eachPart<Id>(ids: readonly Id[], work: (part: readonly Id[]) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < ids.length; at += PART) await work(ids.slice(at, at + PART));
}

export interface TransactionOptions {
  /** Must survive a power loss, not only a crash of the process. */
  readonly isDurable: boolean;
  /** The work writes only with its last statement, which is a transaction by itself, without begin and commit. */
  readonly isOneStatement?: boolean;
}

/**
 * The port from the catalog to a SQL database. Everything above it is the same for all databases, in the SQL that
 * SQLite and PostgreSQL share.
 *
 * Methods that run statements throw `ServiceUnavailable` if the database is away or stays locked.
 */
export interface CatalogStore {
  /** Runs statements outside any transaction: each sees what is committed when it runs. */
  read<T>(work: (sql: Sql) => Promise<T>): Promise<T>;

  /** A serializable transaction, durable by default. `work` may run again after a conflict, so it uses only `sql`. */
  transact<T>(work: (sql: Sql) => Promise<T>, options?: TransactionOptions): Promise<T>;

  /** Like `transact`, for schema changes, which run in one process at a time. */
  transactAlone<T>(work: (sql: Sql) => Promise<T>): Promise<T>;

  /**
   * Changes when a connection other than that of `transact` has committed. Cheap: every lookup reads it. Absent where
   * nothing is cheaper than a query.
   */
  readonly readChangeCounter?: () => Promise<number>;

  /** Refuses while a committed transaction may not be durable. For results that must not be reported before. */
  requireDurable(): Promise<void>;

  /** Syncs of committed transactions to disk since the start. */
  syncCount(): number;

  /** Milliseconds since 1970 on the database's clock, which all nodes share. */
  readonly clock: RawBuilder<number>;

  /** The column type of text that is compared and ordered byte by byte. */
  readonly binaryText: RawBuilder<unknown>;

  /** Lets running work finish and refuses later work. */
  close(): Promise<void>;
}
