import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import Database from 'libsql';
import { APPLIED, compareMigrations } from '../schema/migrations.ts';
import type { CatalogState } from '../schema/migrations.ts';

/** Changes nothing, and works beside a running server. The next start migrates a catalog of an older release. */
export function inspectCatalog(file: string): CatalogState {
  if (!existsSync(file)) return 'absent';
  let database: Database.Database | undefined;
  try {
    // libsql takes a text such as "https:…" for a server's address; an absolute path is never one.
    database = new Database(resolve(file));
    database.exec('pragma query_only = on');
    if (firstValue(database, 'pragma quick_check(1)') !== 'ok') return 'damaged';
    return compareMigrations(Number(firstValue(database, `select value from settings where name = '${APPLIED}'`) ?? 0));
  } catch {
    return 'damaged';
  } finally {
    database?.close();
  }
}

function firstValue(database: Database.Database, sql: string): unknown {
  const row: unknown = database.prepare(sql).raw().get();
  return Array.isArray(row) ? row[0] : undefined;
}
