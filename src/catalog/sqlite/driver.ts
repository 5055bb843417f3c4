import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import type { CompiledQuery, DatabaseConnection, Dialect, QueryResult } from 'kysely';
import type Database from 'libsql';
import { LRUCache } from 'lru-cache';
import { requireStorableText } from '../errors.ts';
import { createSql } from '../store.ts';
import type { DirectQuery, Sql } from '../store.ts';

const STATEMENTS_MAX = 200;

/** Kysely over one libsql connection with synchronous statements. `SqliteStore` begins and ends transactions. */
export function createSqliteSql(database: Database.Database): Sql {
  const connection = new SqliteConnection(database);
  return createSql(createDialect(connection), (query) => connection.run(query).rows);
}

function createDialect(connection: SqliteConnection): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => ({
      init: nothing,
      acquireConnection: async () => connection,
      releaseConnection: nothing,
      beginTransaction: refuseTransaction,
      commitTransaction: refuseTransaction,
      rollbackTransaction: refuseTransaction,
      destroy: nothing,
    }),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

async function nothing(): Promise<void> {}

async function refuseTransaction(): Promise<never> {
  throw new Error('A transaction of the catalog is one of its store.');
}

interface Prepared {
  readonly statement: Database.Statement;
  readonly isReader: boolean;
}

class SqliteConnection implements DatabaseConnection {
  readonly #database: Database.Database;
  readonly #statements = new LRUCache<string, Prepared>({ max: STATEMENTS_MAX });

  constructor(database: Database.Database) {
    this.#database = database;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Kysely derived `Row` from the same query
    return this.run(query) as QueryResult<Row>;
  }

  run({ sql, parameters, isOneRow = false }: DirectQuery): QueryResult<unknown> {
    const { statement, isReader } = this.#statements.get(sql) ?? this.#prepare(sql);
    const values = parameters.map(toNativeValue);
    if (isReader && isOneRow) {
      const row = statement.get(values);
      return { rows: row === undefined ? [] : [row] };
    }
    if (isReader) return { rows: statement.all(values) };
    return { rows: [], numAffectedRows: BigInt(statement.run(values).changes) };
  }

  streamQuery(): AsyncIterableIterator<never> {
    throw new Error('The catalog does not stream rows.');
  }

  #prepare(sql: string): Prepared {
    const statement = this.#database.prepare(sql);
    const prepared = { statement, isReader: statement.reader };
    this.#statements.set(sql, prepared);
    return prepared;
  }
}

/** libsql binds every number as a float, and crashes the process on a boolean. */
function toNativeValue(value: unknown): string | number | bigint | null {
  if (value === null || typeof value === 'bigint') return value;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value !== 'string') throw new TypeError(`SQLite cannot store a ${typeof value}.`);
  requireStorableText(value);
  return value;
}
