import { CamelCasePlugin, Kysely } from 'kysely';
import type { CompiledQuery, Dialect, RawBuilder } from 'kysely';
import type { CatalogTables } from './schema/rows.ts';

export type Sql = Kysely<CatalogTables>;

export interface DirectQuery extends Pick<CompiledQuery, 'sql' | 'parameters'> {
  /** It gives at most one row. */
  readonly isOneRow?: boolean;
}

/** Runs a compiled statement and gives its rows, with the names of columns as they are in the database. */
export type RunDirectly = (query: DirectQuery) => readonly unknown[];

const direct = new WeakMap<Sql, RunDirectly>();

/** `runDirectly`: where the database is in this process, the layers above it cost more than a statement. */
export function createSql(dialect: Dialect, runDirectly?: RunDirectly): Sql {
  const sql = new Kysely<CatalogTables>({ dialect, plugins: [new CamelCasePlugin()] });
  if (runDirectly !== undefined) direct.set(sql, runDirectly);
  return sql;
}

/** `undefined`: statements run by `sql` itself. */
export function findDirect(sql: Sql): RunDirectly | undefined {
  return direct.get(sql);
}

/** Well below the number of values that a statement takes. */
const PART = 1000;

export async function eachPart<Id>(ids: readonly Id[], work: (part: readonly Id[]) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < ids.length; at += PART) await work(ids.slice(at, at + PART));
}

export interface TransactionOptions {
  /** Must survive a power loss, not only a crash of the process. */
  readonly isDurable: boolean;
  /** The work writes with its last statement only: that is a transaction by itself, without begin and commit. */
  readonly isOneStatement?: boolean;
}

/**
 * The port of the catalog to a SQL database. Everything above it is the same for all of them, in the SQL that SQLite and
 * PostgreSQL share.
 *
 * Whatever runs statements refuses with `ServiceUnavailable` when the database is away or stays locked.
 */
export interface CatalogStore {
  /** Statements outside of any transaction: each sees what is committed when it runs. */
  read<T>(work: (sql: Sql) => Promise<T>): Promise<T>;

  /** A serializable transaction, durable by default. `work` may run again after a conflict, so it uses only `sql`. */
  transact<T>(work: (sql: Sql) => Promise<T>, options?: TransactionOptions): Promise<T>;

  /** As `transact`, for changes of the schema, which run in one process at a time. */
  transactAlone<T>(work: (sql: Sql) => Promise<T>): Promise<T>;

  /**
   * Changes when another connection than that of `transact` has committed anything. Cheap: every lookup reads it. Absent
   * where nothing is cheaper than a query.
   */
  readonly readChangeCounter?: () => Promise<number>;

  /** Refuses while a committed transaction may not be durable: for what must not be reported before it is. */
  requireDurable(): Promise<void>;

  /** Syncs of committed transactions to disk since the start. */
  syncCount(): number;

  /** Milliseconds since 1970 on the clock of the database, which all nodes share. */
  readonly clock: RawBuilder<number>;

  /** The column type of text that is compared and ordered byte by byte. */
  readonly binaryText: RawBuilder<unknown>;

  /** Lets running work finish; later work is refused. */
  close(): Promise<void>;
}
