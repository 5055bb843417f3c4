import type { CompiledQuery } from 'kysely';
import { LRUCache } from 'lru-cache';
import { findDirect } from '../store.ts';
import type { Sql } from '../store.ts';

/**
 * A statement of every write, compiled once per key: compiling it each time would cost more than running it. The
 * columns of its rows have one-word names, which are the same in the database.
 */
export interface HotStatement<Row> {
  /** Identifies the statement, including the number of its values if that varies. */
  readonly key: string;
  readonly compile: () => CompiledQuery<Row>;
  /** In the order in which the statement uses them. */
  readonly values: readonly unknown[];
  /** The statement returns at most one row. */
  readonly isOneRow?: boolean;
}

const STATEMENTS_MAX = 200;
const compiled = new WeakMap<Sql, LRUCache<string, CompiledQuery>>();

export async function runHot<Row>(
  sql: Sql,
  { key, compile, values, isOneRow = false }: HotStatement<Row>,
): Promise<readonly Row[]> {
  let statements = compiled.get(sql);
  if (statements === undefined) {
    statements = new LRUCache({ max: STATEMENTS_MAX });
    compiled.set(sql, statements);
  }
  let query = statements.get(key);
  if (query === undefined) {
    query = compile();
    if (query.parameters.length !== values.length) throw new Error(`The statement "${key}" has other values.`);
    statements.set(key, query);
  }
  const runDirectly = findDirect(sql);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Kysely derived `Row` from the same query.
  if (runDirectly !== undefined) return runDirectly({ sql: query.sql, parameters: values, isOneRow }) as readonly Row[];
  const { rows } = await sql.executeQuery<Row>({ ...query, parameters: values });
  return rows;
}
