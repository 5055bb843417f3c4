import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import type { CompiledQuery, DatabaseConnection, Dialect, Driver, QueryResult } from 'kysely';
import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';

/** A connection of `libsql`, which does everything at once, or of `libsql/promise`, which does `exec` in a thread. */
export interface NativeConnection {
  prepare(sql: string): NativeStatement | Promise<NativeStatement>;
  exec(sql: string): unknown;
}

export interface NativeStatement {
  readonly reader: boolean;
  all(values: readonly unknown[]): unknown[] | Promise<unknown[]>;
  run(values: readonly unknown[]): { readonly changes: number };
}

const STATEMENTS_MAX = 200;

export function createSqliteDialect(native: NativeConnection): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new SqliteDriver(native),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

/** Hands its one connection to one transaction or statement at a time, in the order in which they came. */
class SqliteDriver implements Driver {
  readonly #native: NativeConnection;
  readonly #connection: SqliteConnection;
  readonly #waiting: (() => void)[] = [];
  #taken = false;

  constructor(native: NativeConnection) {
    this.#native = native;
    this.#connection = new SqliteConnection(native);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    if (this.#taken) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    this.#taken = true;
    return this.#connection;
  }

  async releaseConnection(): Promise<void> {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken = false;
    else next();
  }

  async beginTransaction(): Promise<void> {
    await this.rollbackTransaction();
    // A transaction that turns from reader to writer fails when another process wrote in between; one that is a writer
    // from the start does not.
    await this.#native.exec('begin immediate');
  }

  async commitTransaction(): Promise<void> {
    await this.#native.exec('commit');
  }

  /** SQLite has rolled back by itself after some errors, such as a full disk. */
  async rollbackTransaction(): Promise<void> {
    const isOpen: unknown = Reflect.get(this.#native, 'inTransaction');
    if (isOpen === true) await this.#native.exec('rollback');
  }

  /** Waits for its turn and never gives it back. Whoever opened the connection closes it. */
  async destroy(): Promise<void> {
    await this.acquireConnection();
    this.#connection.forgetStatements();
  }
}

class SqliteConnection implements DatabaseConnection {
  readonly #native: NativeConnection;
  readonly #statements = new Map<string, NativeStatement>();

  constructor(native: NativeConnection) {
    this.#native = native;
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const statement = this.#statements.get(sql) ?? (await this.#prepare(sql));
    const values = parameters.map(toNativeValue);
    if (!statement.reader) return { rows: [], numAffectedRows: BigInt(statement.run(values).changes) };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Kysely derived `Row` from the same query
    return { rows: (await statement.all(values)) as Row[] };
  }

  streamQuery(): AsyncIterableIterator<never> {
    throw new Error('The catalog does not stream rows.');
  }

  forgetStatements(): void {
    this.#statements.clear();
  }

  async #prepare(sql: string): Promise<NativeStatement> {
    if (this.#statements.size >= STATEMENTS_MAX) this.#statements.clear();
    const statement = await this.#native.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/**
 * libsql cuts text at a NUL when it reads it back, stores U+FFFD for a lone surrogate, binds every number as a floating
 * one, and ends the process on a boolean.
 */
function toNativeValue(value: unknown): string | number | bigint | null {
  if (value === null || typeof value === 'bigint') return value;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value !== 'string') throw new TypeError(`A ${typeof value} is no value for SQLite.`);
  if (value.includes('\u0000') || /\p{Cs}/u.test(value)) {
    throw new ServiceError('InvalidInput', `The text ${quoteForMessage(value)} cannot be kept in the catalog.`);
  }
  return value;
}
