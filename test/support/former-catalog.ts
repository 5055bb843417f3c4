import type Database from 'libsql';

/** Turns a catalog into one of schema 6, without what later migrations have added. */
export function toSchemaSix(catalog: Database.Database): void {
  for (const column of ['epoch', 'generation', 'expected']) catalog.exec(`alter table journal drop column ${column}`);
  for (const table of ['nodes', 'leases', 'heads', 'jobs', 'quotas', 'webhooks', 'attempts'])
    catalog.exec(`drop table ${table}`);
  for (const table of ['transaction_properties', 'version_removals', 'version_metadata'])
    catalog.exec(`drop table ${table}`);
  for (const index of ['journal_pending', 'tables_created_by']) catalog.exec(`drop index ${index}`);
  for (const column of ['node_id', 'stored_rows', 'stored_bytes', 'tunings']) {
    catalog.exec(`alter table tables drop column ${column}`);
  }
  catalog.exec('alter table transactions drop column former_path');
  catalog.exec("update settings set value = '6' where name = 'migrations_applied'");
}
