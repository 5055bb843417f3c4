import type { Kysely, RawBuilder } from 'kysely';
import type { CatalogTables } from './schema/rows.ts';

export type Sql = Kysely<CatalogTables>;

/**
 * What a kind of SQL database does in its own way. The catalog is written once, against this.
 *
 * All ways to run statements refuse with `ServiceUnavailable` when the database is away or stays locked.
 */
export interface CatalogStore {
  /** Statements outside of any transaction: each sees what is committed when it runs. */
  read<T>(work: (sql: Sql) => Promise<T>): Promise<T>;

  /**
   * All statements or none, as if no other process wrote meanwhile. `work` may run again after a conflict, so it touches
   * nothing but `sql`. Durable unless it is told otherwise: then a power loss may undo it, a kill of the process not.
   */
  transact<T>(work: (sql: Sql) => Promise<T>, options?: { readonly isDurable: boolean }): Promise<T>;

  /** As `transact`, for changes of the tables themselves, while no other process makes any. */
  transactAlone<T>(work: (sql: Sql) => Promise<T>): Promise<T>;

  /** While it stays the same, nothing at all has been committed by any process. Cheap: every lookup asks. */
  readChangeCounter(): Promise<number>;

  /** Refuses while something that is committed may not be on disk: for what must not be told before it is. */
  requireDurable(): Promise<void>;

  /** How often committed transactions were synced to disk since the start. */
  syncCount(): number;

  /** The column type of text that is compared and ordered byte by byte. */
  readonly binaryText: RawBuilder<unknown>;

  /** Lets running work finish; what comes later is refused. */
  close(): Promise<void>;
}
