import { sql as statement } from 'kysely';
import pg from 'pg';
import { APPLIED, compareMigrations } from '../schema/migrations.ts';
import type { CatalogState } from '../schema/migrations.ts';
import type { Sql } from '../store.ts';
import type { PostgresSettings } from './postgres-store.ts';

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const UNDEFINED_TABLE = '42P01';

/** Read-only, and safe while servers are running. The next start migrates the catalog of an older release. */
export async function inspectPostgresCatalog({
  url,
  waitMilliseconds,
}: Pick<PostgresSettings, 'url' | 'waitMilliseconds'>): Promise<CatalogState> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: waitMilliseconds,
    query_timeout: waitMilliseconds,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ value: string }>('select value from settings where name = $1', [APPLIED]);
    return compareMigrations(Number(rows[0]?.value ?? 0));
  } catch (error) {
    const isAbsent = error instanceof pg.DatabaseError && error.code === UNDEFINED_TABLE;
    return isAbsent ? 'absent' : 'unreachable';
  } finally {
    await client.end().catch(() => {});
  }
}

/** The name of a live node that serves this catalog. The table is missing in catalogs of older releases. */
export async function findLiveNode(sql: Sql): Promise<string | undefined> {
  const { rows: tables } = await statement<{ found: string }>`select to_regclass('nodes') as found
    where to_regclass('nodes') is not null`.execute(sql);
  if (tables.length === 0) return undefined;
  const { rows: nodes } = await statement<{ name: string }>`select name from nodes
    where alive_until > extract(epoch from clock_timestamp()) * 1000 limit 1`.execute(sql);
  return nodes[0]?.name;
}
