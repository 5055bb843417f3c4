import { sql as statement } from 'kysely';
import { ServiceError } from '../../errors/service-error.ts';
import { renewGeneration, writeSetting } from '../context.ts';
import type { CatalogStore, Sql } from '../store.ts';

type BinaryText = CatalogStore['binaryText'];
type Migration = (sql: Sql, text: BinaryText) => Promise<void>;

/** Append only: released migrations never change. */
const MIGRATIONS: readonly Migration[] = [
  createFirstTables,
  createLifecycle,
  createTokenEndpoint,
  async (sql) => addColumns(sql, 'tables', ['held_branch text']),
  createJournal,
  async (sql) => addColumns(sql, 'journal', ['bound_version bigint']),
  renameJournalStates,
  createNodes,
  createJobs,
  createQuotas,
  async (sql) => addColumns(sql, 'tables', ['tunings text']),
  createWebhooks,
  createProtocolParts,
  createVersionMetadata,
  indexKeysOnly,
  async (sql) => addColumns(sql, 'transactions', ['former_path text']),
  createAttempts,
];
export const MIGRATIONS_COUNT = MIGRATIONS.length;
export const APPLIED = 'migrations_applied';

export type CatalogState = 'absent' | 'current' | 'older' | 'newer' | 'damaged' | 'unreachable';

export function compareMigrations(applied: number): CatalogState {
  if (applied === MIGRATIONS_COUNT) return 'current';
  return applied < MIGRATIONS_COUNT ? 'older' : 'newer';
}

/**
 * Runs all pending migrations or none. Of several processes starting at once, one migrates, and the others find it
 * done.
 */
export async function migrate(store: CatalogStore, now: number): Promise<void> {
  const { binaryText } = store;
  await store.transactAlone(async (sql) => {
    await statement`create table if not exists settings (name ${binaryText} primary key, value text not null)`.execute(
      sql,
    );
    const applied = await countApplied(sql);
    if (applied === MIGRATIONS.length) return;
    for (const migration of MIGRATIONS.slice(applied)) await migration(sql, binaryText);
    await renewGeneration(sql, now);
    await writeSetting(sql, APPLIED, String(MIGRATIONS.length));
  });
}

async function countApplied(sql: Sql): Promise<number> {
  const row = await sql.selectFrom('settings').select('value').where('name', '=', APPLIED).executeTakeFirst();
  const applied = row === undefined ? 0 : Number(row.value);
  if (applied <= MIGRATIONS.length) return applied;
  throw new ServiceError('ServiceUnavailable', 'The catalog was written by a newer release of Tiltyard.', {
    hint: 'Use that release or a later one.',
  });
}

async function createFirstTables(sql: Sql, text: BinaryText): Promise<void> {
  await statement`create table databases (
    id ${text} primary key not null, name ${text} not null unique, root text not null, created_at bigint not null
  )`.execute(sql);
  await statement`create table namespaces (
    id ${text} primary key not null, database_id ${text} not null references databases (id),
    parent_id ${text} references namespaces (id), path ${text} not null, properties text not null,
    created_at bigint not null, constraint namespaces_path unique (database_id, path)
  )`.execute(sql);
  await statement`create index namespaces_parent on namespaces (parent_id)`.execute(sql);
  await statement`create table tables (
    id ${text} primary key not null, database_id ${text} not null references databases (id),
    namespace_id ${text} references namespaces (id), path ${text} not null, state text not null,
    place_kind text not null, place_root text not null, place_directory text not null, engine_path text,
    location ${text} not null unique, properties text not null, held_version bigint, created_by text not null,
    created_at bigint not null, constraint tables_path unique (database_id, path)
  )`.execute(sql);
  await statement`create index tables_namespace on tables (namespace_id)`.execute(sql);
  await createCredentials(sql, 'api_keys', text);
  await statement`create table grants (
    principal ${text} not null, database_name ${text} not null, path ${text} not null, role text not null,
    constraint grants_key primary key (principal, database_name, path, role)
  )`.execute(sql);
  // No reference to tables: the record of a write outlives the table.
  await statement`create table transactions (
    id ${text} primary key not null, database_id ${text} not null references databases (id),
    table_id ${text} not null, table_path ${text} not null, operation text not null, caller text not null,
    version bigint not null, branch text, request_id text not null, committed_at bigint not null
  )`.execute(sql);
  await statement`create index transactions_feed on transactions (database_id, id)`.execute(sql);
}

/** What remains of dropped, deregistered and renamed tables. */
async function createLifecycle(sql: Sql, text: BinaryText): Promise<void> {
  await statement`create table removals (
    id ${text} primary key not null, place_kind text not null, place_root text not null,
    place_directory text not null, engine_path text, location ${text} not null unique, created_at bigint not null
  )`.execute(sql);
  await statement`create table releases (
    location ${text} primary key not null, database_id ${text} not null references databases (id),
    path ${text} not null, released_at bigint not null
  )`.execute(sql);
  await statement`create table renames (
    database_id ${text} not null references databases (id), path ${text} not null, table_id ${text} not null,
    renamed_at bigint not null, constraint renames_key primary key (database_id, path)
  )`.execute(sql);
}

/** Clients of the token endpoint, and the keys that it signs with. */
async function createTokenEndpoint(sql: Sql, text: BinaryText): Promise<void> {
  await createCredentials(sql, 'oauth_clients', text);
  await statement`create table signing_keys (
    id ${text} primary key not null, jwk text not null, created_at bigint not null, retired_at bigint
  )`.execute(sql);
  await statement`create index grants_database on grants (database_name, principal)`.execute(sql);
}

async function createCredentials(sql: Sql, table: string, text: BinaryText): Promise<void> {
  await statement`create table ${statement.table(table)} (
    id ${text} primary key not null, name text not null, digest ${text} not null unique,
    created_at bigint not null, expires_at bigint, revoked_at bigint
  )`.execute(sql);
}

/** Writes that have begun and were not answered yet, and for a while those with a key. */
async function createJournal(sql: Sql, text: BinaryText): Promise<void> {
  await statement`create table journal (
    id ${text} primary key not null, caller ${text} not null, digest ${text} not null, idempotency_key ${text},
    operation text not null, database_id ${text} not null, table_id ${text} not null, table_path ${text} not null,
    branch text, base_version bigint not null, request_id text not null, state text not null,
    since bigint not null, version bigint, transaction_id text, outcome text
  )`.execute(sql);
  await statement`create index journal_digest on journal (digest)`.execute(sql);
  await statement`create index journal_key on journal (idempotency_key, caller)`.execute(sql);
}

/** Entries of the previous release have no response marks, so none is replayed without a key. */
async function renameJournalStates(sql: Sql): Promise<void> {
  await addColumns(sql, 'journal', ['epoch bigint default 0 not null', 'generation text', 'expected text']);
  await statement`update journal set state = 'pending' where state = 'begun'`.execute(sql);
  for (const [operation, kinds] of Object.entries(FORMER_COMMITS)) {
    const expected = JSON.stringify({ kinds, rule: { from: 'nothing' } });
    await statement`update journal set expected = ${expected} where state = 'pending' and operation = ${operation}`.execute(
      sql,
    );
  }
  // An interrupted write of several commits is undone, whatever it has committed.
  const undone = JSON.stringify({ kinds: [], isMultiCommit: true, rule: { from: 'nothing' } });
  await statement`update journal set expected = ${undone} where state = 'pending' and exists (
    select 1 from tables where tables.id = journal.table_id and tables.held_version <= journal.base_version
      and coalesce(tables.held_branch, 'main') = coalesce(journal.branch, 'main'))`.execute(sql);
}

/** The possible commits of a write of the previous release, which did not record them. */
const FORMER_COMMITS = {
  update_table: ['update'],
  delete_from_table: ['delete'],
  insert_into_table: ['append', 'overwrite'],
  complete_multipart_write: ['append', 'overwrite'],
  merge_insert_into_table: ['append', 'update', 'delete'],
};

/** For clusters: live nodes, leases of tables, and the versions that readers get. */
async function createNodes(sql: Sql, text: BinaryText): Promise<void> {
  await statement`create table nodes (
    id ${text} primary key not null, instance ${text} not null, name text not null, address text,
    release text not null, storage_root text not null, started_at bigint not null, alive_until bigint not null,
    forwards bigint not null
  )`.execute(sql);
  await statement`create table leases (
    table_id ${text} primary key not null, node_id ${text}, epoch bigint not null, taken_at bigint not null,
    taken_from ${text}
  )`.execute(sql);
  await statement`create index leases_node on leases (node_id)`.execute(sql);
  await statement`create table heads (
    table_id ${text} primary key not null, version bigint not null, change bigint not null
  )`.execute(sql);
  await statement`create index heads_change on heads (change)`.execute(sql);
  await statement`create index journal_pending on journal (table_id) where state = 'pending'`.execute(sql);
  await statement`alter table tables add column node_id ${text}`.execute(sql);
}

/** For clusters: jobs of all nodes. */
async function createJobs(sql: Sql, text: BinaryText): Promise<void> {
  // No reference to nodes: the record of a job outlives its node.
  await statement`create table jobs (
    id ${text} primary key not null, node_id ${text} not null, database_id ${text} not null,
    table_id ${text} not null, table_path ${text} not null, kind text not null, caller text not null,
    spec text not null, state text not null, phase text not null, cancel_requested bigint not null,
    created_at bigint not null, ended_at bigint, result text, failure text
  )`.execute(sql);
  await statement`create index jobs_created on jobs (created_at)`.execute(sql);
  await statement`create index jobs_open on jobs (node_id) where ended_at is null`.execute(sql);
}

/** Quotas, and the table sizes that they apply to. */
async function createQuotas(sql: Sql, text: BinaryText): Promise<void> {
  await statement`create table quotas (
    subject ${text} primary key not null, requests_per_second bigint, concurrent_reads bigint,
    concurrent_writes bigint, "bytes" bigint, "rows" bigint, "tables" bigint
  )`.execute(sql);
  await addColumns(sql, 'tables', ['stored_rows bigint', 'stored_bytes bigint']);
  await statement`create index tables_created_by on tables (created_by)`.execute(sql);
}

/** Addresses that are notified of commits. */
async function createWebhooks(sql: Sql, text: BinaryText): Promise<void> {
  await statement`create table webhooks (
    id ${text} primary key not null, database_id ${text} not null, scope text not null, url text not null,
    secret text not null, state text not null, created_by text not null, created_at bigint not null,
    cursor ${text} not null, node_id ${text} not null, failures bigint not null, failing_since bigint,
    next_attempt_at bigint not null, attempted_at bigint, delivered_at bigint, delivered_events bigint not null,
    last_status bigint, last_error text
  )`.execute(sql);
  await statement`create index webhooks_database on webhooks (database_id, id)`.execute(sql);
}

/** Properties that callers set on transactions, and versions that a batch has deleted. */
async function createProtocolParts(sql: Sql, text: BinaryText): Promise<void> {
  await statement`create table transaction_properties (
    transaction_id ${text} primary key not null, properties text not null
  )`.execute(sql);
  await statement`create table version_removals (
    id ${text} primary key not null, table_id ${text} not null, branch text, versions text not null
  )`.execute(sql);
  await statement`create index version_removals_table on version_removals (table_id)`.execute(sql);
}

async function createVersionMetadata(sql: Sql, text: BinaryText): Promise<void> {
  await statement`create table version_metadata (
    table_id ${text} not null, branch ${text} not null, version bigint not null, committed_at bigint not null,
    metadata text not null, constraint version_metadata_key primary key (table_id, branch, version)
  )`.execute(sql);
}

/**
 * Most entries have no key, and none is looked up by its digest. Each index that a write must change costs it a page.
 */
async function indexKeysOnly(sql: Sql): Promise<void> {
  for (const index of ['journal_digest', 'journal_key']) {
    await statement`drop index if exists ${statement.table(index)}`.execute(sql);
  }
  await statement`create index journal_key on journal (idempotency_key, caller) where idempotency_key is not null`.execute(
    sql,
  );
}

/** At work that the server repeats after a restart. */
async function createAttempts(sql: Sql, text: BinaryText): Promise<void> {
  await statement`create table attempts (
    table_id ${text} not null, work ${text} not null, begun bigint not null,
    constraint attempts_key primary key (table_id, work)
  )`.execute(sql);
}

async function addColumns(sql: Sql, table: string, columns: readonly string[]): Promise<void> {
  for (const column of columns) {
    await statement`alter table ${statement.table(table)} add column ${statement.raw(column)}`.execute(sql);
  }
}
