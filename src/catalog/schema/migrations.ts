import { sql as expression } from 'kysely';
import type { CreateTableBuilder } from 'kysely';
import { ServiceError } from '../../errors/service-error.ts';
import { renewGeneration } from '../context.ts';
import type { CatalogStore, Sql } from '../store.ts';

type BinaryText = CatalogStore['binaryText'];
type Migration = (sql: Sql, binaryText: BinaryText) => Promise<void>;

/** Only ever added to: a released migration stays as it is. */
const MIGRATIONS: readonly Migration[] = [
  createFirstTables,
  createLifecycle,
  createTokenEndpoint,
  holdBranches,
  createJournal,
  boundJournal,
  renameJournalStates,
];
export const MIGRATIONS_COUNT = MIGRATIONS.length;
export const APPLIED = 'migrations_applied';

/** All pending migrations or none; of several processes that start at once, one migrates and the others find it done. */
export async function migrate(store: CatalogStore, nowMilliseconds: number): Promise<void> {
  await store.transactAlone(async (sql) => {
    await sql.schema
      .createTable('settings')
      .ifNotExists()
      .addColumn('name', store.binaryText, (column) => column.primaryKey())
      .addColumn('value', 'text', (column) => column.notNull())
      .execute();
    const applied = await countApplied(sql);
    if (applied === MIGRATIONS.length) return;
    for (const migration of MIGRATIONS.slice(applied)) await migration(sql, store.binaryText);
    await renewGeneration(sql, nowMilliseconds);
    const value = String(MIGRATIONS.length);
    await sql
      .insertInto('settings')
      .values({ name: APPLIED, value })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
      .execute();
  });
}

async function countApplied(sql: Sql): Promise<number> {
  const row = await sql.selectFrom('settings').select('value').where('name', '=', APPLIED).executeTakeFirst();
  const applied = row === undefined ? 0 : Number(row.value);
  if (applied <= MIGRATIONS.length) return applied;
  throw new ServiceError('ServiceUnavailable', 'The catalog was written by a newer release of the service.', {
    hint: 'Start that release, or a later one.',
  });
}

async function createFirstTables(sql: Sql, binaryText: BinaryText): Promise<void> {
  await createTable(sql, 'databases', binaryText)
    .addColumn('name', binaryText, (column) => column.notNull().unique())
    .addColumn('root', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await createNamespaces(sql, binaryText);
  await createTables(sql, binaryText);
  await createAccess(sql, binaryText);
  await createTransactions(sql, binaryText);
}

async function createNamespaces(sql: Sql, binaryText: BinaryText): Promise<void> {
  await createTable(sql, 'namespaces', binaryText)
    .addColumn('database_id', binaryText, (column) => column.notNull().references('databases.id'))
    .addColumn('parent_id', binaryText, (column) => column.references('namespaces.id'))
    .addColumn('path', binaryText, (column) => column.notNull())
    .addColumn('properties', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('namespaces_path', ['database_id', 'path'])
    .execute();
  await sql.schema.createIndex('namespaces_parent').on('namespaces').column('parent_id').execute();
}

async function createTables(sql: Sql, binaryText: BinaryText): Promise<void> {
  await createTable(sql, 'tables', binaryText)
    .addColumn('database_id', binaryText, (column) => column.notNull().references('databases.id'))
    .addColumn('namespace_id', binaryText, (column) => column.references('namespaces.id'))
    .addColumn('path', binaryText, (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('place_kind', 'text', (column) => column.notNull())
    .addColumn('place_root', 'text', (column) => column.notNull())
    .addColumn('place_directory', 'text', (column) => column.notNull())
    .addColumn('engine_path', 'text')
    .addColumn('location', binaryText, (column) => column.notNull().unique())
    .addColumn('properties', 'text', (column) => column.notNull())
    .addColumn('held_version', 'bigint')
    .addColumn('created_by', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('tables_path', ['database_id', 'path'])
    .execute();
  await sql.schema.createIndex('tables_namespace').on('tables').column('namespace_id').execute();
}

async function createAccess(sql: Sql, binaryText: BinaryText): Promise<void> {
  await createTable(sql, 'api_keys', binaryText)
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('digest', binaryText, (column) => column.notNull().unique())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
    .addColumn('revoked_at', 'bigint')
    .execute();
  await sql.schema
    .createTable('grants')
    .addColumn('principal', binaryText, (column) => column.notNull())
    .addColumn('database_name', binaryText, (column) => column.notNull())
    .addColumn('path', binaryText, (column) => column.notNull())
    .addColumn('role', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('grants_key', ['principal', 'database_name', 'path', 'role'])
    .execute();
}

/** Clients of the token endpoint, and the keys that it signs with. */
async function createTokenEndpoint(sql: Sql, binaryText: BinaryText): Promise<void> {
  await createTable(sql, 'oauth_clients', binaryText)
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('digest', binaryText, (column) => column.notNull().unique())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
    .addColumn('revoked_at', 'bigint')
    .execute();
  await createTable(sql, 'signing_keys', binaryText)
    .addColumn('jwk', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('retired_at', 'bigint')
    .execute();
  await sql.schema.createIndex('grants_database').on('grants').columns(['database_name', 'principal']).execute();
}

/** No reference to `tables`: the record of a write outlives the table. */
async function createTransactions(sql: Sql, binaryText: BinaryText): Promise<void> {
  await createTable(sql, 'transactions', binaryText)
    .addColumn('database_id', binaryText, (column) => column.notNull().references('databases.id'))
    .addColumn('table_id', binaryText, (column) => column.notNull())
    .addColumn('table_path', binaryText, (column) => column.notNull())
    .addColumn('operation', 'text', (column) => column.notNull())
    .addColumn('caller', 'text', (column) => column.notNull())
    .addColumn('version', 'bigint', (column) => column.notNull())
    .addColumn('branch', 'text')
    .addColumn('request_id', 'text', (column) => column.notNull())
    .addColumn('committed_at', 'bigint', (column) => column.notNull())
    .execute();
  await sql.schema.createIndex('transactions_feed').on('transactions').columns(['database_id', 'id']).execute();
}

async function holdBranches(sql: Sql): Promise<void> {
  await sql.schema.alterTable('tables').addColumn('held_branch', 'text').execute();
}

/** Writes that were begun and not answered, and for a while those with a key. */
async function createJournal(sql: Sql, binaryText: BinaryText): Promise<void> {
  await createTable(sql, 'journal', binaryText)
    .addColumn('caller', binaryText, (column) => column.notNull())
    .addColumn('digest', binaryText, (column) => column.notNull())
    .addColumn('idempotency_key', binaryText)
    .addColumn('operation', 'text', (column) => column.notNull())
    .addColumn('database_id', binaryText, (column) => column.notNull())
    .addColumn('table_id', binaryText, (column) => column.notNull())
    .addColumn('table_path', binaryText, (column) => column.notNull())
    .addColumn('branch', 'text')
    .addColumn('base_version', 'bigint', (column) => column.notNull())
    .addColumn('request_id', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('since', 'bigint', (column) => column.notNull())
    .addColumn('version', 'bigint')
    .addColumn('transaction_id', 'text')
    .addColumn('outcome', 'text')
    .execute();
  await sql.schema.createIndex('journal_digest').on('journal').column('digest').execute();
  await sql.schema.createIndex('journal_key').on('journal').columns(['idempotency_key', 'caller']).execute();
}

async function boundJournal(sql: Sql): Promise<void> {
  await sql.schema.alterTable('journal').addColumn('bound_version', 'bigint').execute();
}

/** Entries of the release before have no response marks, so none of them is replayed without a key. */
async function renameJournalStates(sql: Sql): Promise<void> {
  await sql.schema
    .alterTable('journal')
    .addColumn('epoch', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await sql.schema.alterTable('journal').addColumn('generation', 'text').execute();
  await sql.schema.alterTable('journal').addColumn('expected', 'text').execute();
  await expression`update journal set state = 'pending' where state = 'begun'`.execute(sql);
  for (const [operation, kinds] of Object.entries(FORMER_COMMITS)) {
    const expected = JSON.stringify({ kinds, rule: { from: 'nothing' } });
    await expression`update journal set expected = ${expected} where state = 'pending' and operation = ${operation}`.execute(
      sql,
    );
  }
  // A write of several commits that was cut short is undone, whatever it has committed.
  const undone = JSON.stringify({ kinds: [], isMultiCommit: true, rule: { from: 'nothing' } });
  await expression`update journal set expected = ${undone} where state = 'pending' and exists (
    select 1 from tables where tables.id = journal.table_id and tables.held_version <= journal.base_version
      and coalesce(tables.held_branch, 'main') = coalesce(journal.branch, 'main'))`.execute(sql);
}

/** What the commit of a write of the release before can be: it did not keep that itself. */
const FORMER_COMMITS = {
  update_table: ['update'],
  delete_from_table: ['delete'],
  insert_into_table: ['append', 'overwrite'],
  complete_multipart_write: ['append', 'overwrite'],
  merge_insert_into_table: ['append', 'update', 'delete'],
};

function createTable(sql: Sql, name: string, binaryText: BinaryText): CreateTableBuilder<string, 'id'> {
  return sql.schema.createTable(name).addColumn('id', binaryText, (column) => column.primaryKey().notNull());
}

/** What is left of tables that were dropped, deregistered or renamed. */
async function createLifecycle(sql: Sql, binaryText: BinaryText): Promise<void> {
  await createTable(sql, 'removals', binaryText)
    .addColumn('place_kind', 'text', (column) => column.notNull())
    .addColumn('place_root', 'text', (column) => column.notNull())
    .addColumn('place_directory', 'text', (column) => column.notNull())
    .addColumn('engine_path', 'text')
    .addColumn('location', binaryText, (column) => column.notNull().unique())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await sql.schema
    .createTable('releases')
    .addColumn('location', binaryText, (column) => column.primaryKey().notNull())
    .addColumn('database_id', binaryText, (column) => column.notNull().references('databases.id'))
    .addColumn('path', binaryText, (column) => column.notNull())
    .addColumn('released_at', 'bigint', (column) => column.notNull())
    .execute();
  await sql.schema
    .createTable('renames')
    .addColumn('database_id', binaryText, (column) => column.notNull().references('databases.id'))
    .addColumn('path', binaryText, (column) => column.notNull())
    .addColumn('table_id', binaryText, (column) => column.notNull())
    .addColumn('renamed_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('renames_key', ['database_id', 'path'])
    .execute();
}
