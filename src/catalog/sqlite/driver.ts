import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import type { CompiledQuery, DatabaseConnection, Dialect, QueryResult } from 'kysely';
import type Database from 'libsql';
import { LRUCache } from 'lru-cache';
import { requireStorableText } from '../errors.ts';

const STATEMENTS_MAX = 200;

/** Kysely over one connection of libsql, whose statements are synchronous. `SqliteStore` begins and ends transactions. */
export function createSqliteDialect(database: Database.Database): Dialect {
  const connection = new SqliteConnection(database);
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

class SqliteConnection implements DatabaseConnection {
  readonly #database: Database.Database;
  readonly #statements = new LRUCache<string, Database.Statement>({ max: STATEMENTS_MAX });

  constructor(database: Database.Database) {
    this.#database = database;
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const statement = this.#statements.get(sql) ?? this.#prepare(sql);
    const values = parameters.map(toNativeValue);
    if (!statement.reader) return { rows: [], numAffectedRows: BigInt(statement.run(values).changes) };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Kysely derived `Row` from the same query
    return { rows: statement.all(values) as Row[] };
  }

  streamQuery(): AsyncIterableIterator<never> {
    throw new Error('The catalog does not stream rows.');
  }

  #prepare(sql: string): Database.Statement {
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** libsql binds every number as a floating one, and ends the process on a boolean. */
function toNativeValue(value: unknown): string | number | bigint | null {
  if (value === null || typeof value === 'bigint') return value;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value !== 'string') throw new TypeError(`A ${typeof value} is no value for SQLite.`);
  requireStorableText(value);
  return value;
}
