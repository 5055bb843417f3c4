import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import Database from 'libsql';
import { APPLIED, compareMigrations } from '../schema/migrations.ts';
import type { CatalogState } from '../schema/migrations.ts';

/** Read-only, and safe while a server is running. The next start migrates the catalog of an older release. */
export function inspectCatalog(file: string): CatalogState {
  if (!existsSync(file)) return 'absent';
  let database: Database.Database | undefined;
  try {
    // libsql takes a text such as "https:…" for the address of a server; an absolute path never looks like one.
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
