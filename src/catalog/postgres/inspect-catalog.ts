import pg from 'pg';
import { APPLIED, compareMigrations } from '../schema/migrations.ts';
import type { CatalogState } from '../schema/migrations.ts';
import type { PostgresSettings } from './postgres-store.ts';

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const UNDEFINED_TABLE = '42P01';

/** Changes nothing, and works beside running servers. The next start migrates a catalog of an older release. */
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
