import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'libsql';
import {
  ENTRY,
  NOW,
  createTable,
  holdVersion,
  nextMessage,
  open,
  refusal,
  startChild,
  temporaryCatalog,
  temporaryFile,
} from '../temporary-catalog.ts';
import { toSchemaSix } from '../../support/former-catalog.ts';

test('an empty file becomes a catalog', async (context) => {
  const file = await temporaryFile(context);
  const catalog = await open(context, file);
  await catalog.ping();
  assert.deepEqual(await catalog.databases.list(), []);
  assert.deepEqual(await catalog.keys.list(), []);
  assert.deepEqual(tableNames(file), [
    'api_keys',
    'attempts',
    'databases',
    'grants',
    'heads',
    'jobs',
    'journal',
    'leases',
    'namespaces',
    'nodes',
    'oauth_clients',
    'quotas',
    'releases',
    'removals',
    'renames',
    'settings',
    'signing_keys',
    'tables',
    'transaction_properties',
    'transactions',
    'version_metadata',
    'version_removals',
    'webhooks',
  ]);
});

test('a write without a key changes no index of keys, and one with a key is found through it', async (context) => {
  const file = await temporaryFile(context);
  await open(context, file);
  const database = new Database(file);
  context.after(() => database.close());
  const texts = (sql: string): string => JSON.stringify(database.prepare(sql).raw().all());
  assert.match(texts("select sql from sqlite_master where name = 'journal_key'"), /where idempotency_key is not null/);
  assert.equal(texts("select name from sqlite_master where name = 'journal_digest'"), '[]');
  const plan = texts("explain query plan select * from journal where idempotency_key = 'k' and caller = 'c'");
  assert.match(plan, /USING INDEX journal_key/);
});

test('everything is still there after a catalog is reopened', async (context) => {
  const { file, catalog, database } = await temporaryCatalog(context);
  const table = await createTable(catalog, database.id, ['orders'], { owner: 'sales' });
  await catalog.close();
  const again = await open(context, file);
  assert.deepEqual(await again.databases.find('default'), database);
  assert.deepEqual(await again.tables.find(database.id, ['orders']), table);
});

test('opening a catalog again writes nothing', async (context) => {
  const { file } = await temporaryCatalog(context);
  const other = new Database(file);
  context.after(() => other.close());
  const dataVersion = other.prepare('pragma data_version').raw();
  const before = dataVersion.get([]);
  await open(context, file);
  assert.deepEqual(dataVersion.get([]), before);
});

test('several openings at once in one process all succeed', async (context) => {
  const file = await temporaryFile(context);
  const catalogs = await Promise.all(Array.from({ length: 6 }, async () => open(context, file)));
  const [first, ...others] = catalogs;
  assert.ok(first);
  const database = await first.databases.create({ name: 'default', root: '/data' });
  for (const other of others) assert.deepEqual(await other.databases.find('default'), database);
});

test('several processes that start at once on an empty file all succeed', async (context) => {
  const file = await temporaryFile(context);
  const children = Array.from({ length: 4 }, () => startChild(context, 'open', [file]));
  assert.deepEqual(await Promise.all(children.map(nextMessage)), ['open', 'open', 'open', 'open']);
  assert.equal(tableNames(file).length, 23);
});

test('the journal of the release before is taken over', async (context) => {
  const { file, catalog, database } = await temporaryCatalog(context);
  const table = await createTable(catalog, database.id, ['orders']);
  const other = await createTable(catalog, database.id, ['held']);
  await holdVersion(catalog, other.id, { version: 3 });
  await catalog.close();
  writeFormerJournal(file, { databaseId: database.id, tableId: table.id, heldId: other.id });
  const { journal } = await open(context, file);
  const [begun, held, ...others] = await journal.pending();
  assert.deepEqual(others, []);
  assert.deepEqual(
    [begun?.id, begun?.state, begun?.key, begun?.baseVersion, begun?.boundVersion, begun?.path],
    ['begun', 'pending', 'k', 3, 5, ['orders']],
  );
  assert.deepEqual([begun?.epoch, begun?.generation], [0, undefined]);
  assert.deepEqual(JSON.parse(begun?.expected ?? ''), { kinds: ['update'], rule: { from: 'nothing' } });
  assert.equal(held?.id, 'held');
  assert.equal(JSON.parse(held?.expected ?? '').isMultiCommit, true);
  const committed = await journal.findByKey('key:k', 'done');
  assert.deepEqual(
    [committed?.state, committed?.version, committed?.outcome, committed?.transactionId],
    ['committed', 4, '{"rows_updated":1}', 'transaction'],
  );
});

test('records of the release before have no former path, and those of later renames do', async (context) => {
  const { file, catalog, database } = await temporaryCatalog(context);
  const table = await createTable(catalog, database.id, ['orders']);
  await catalog.close();
  const former = new Database(file);
  former.exec('alter table transactions drop column former_path');
  former.exec('drop table attempts');
  former.exec("update settings set value = '15' where name = 'migrations_applied'");
  former.close();
  const { tables, transactions } = await open(context, file);
  await tables.rename(table, ['bills'], { ...ENTRY, operation: 'rename_table' });
  const records = await transactions.list({ databaseId: database.id, limit: 10 });
  assert.deepEqual(
    records.map(({ path, formerPath }) => [path, formerPath]),
    [
      [['orders'], undefined],
      [['bills'], ['orders']],
    ],
  );
});

test('refuses a catalog of a newer release and leaves it as it is', async (context) => {
  const { file, catalog } = await temporaryCatalog(context);
  await catalog.close();
  const other = new Database(file);
  context.after(() => other.close());
  other.exec("update settings set value = '99' where name = 'migrations_applied'");
  await assert.rejects(open(context, file), refusal('ServiceUnavailable', /newer release/));
  const value = other.prepare("select value from settings where name = 'migrations_applied'").raw().get([]);
  assert.deepEqual(value, ['99']);
});

interface FormerTables {
  readonly databaseId: string;
  readonly tableId: string;
  readonly heldId: string;
}

/** As schema 6 had it: a write that was begun, one of several commits, and one that was committed. */
function writeFormerJournal(file: string, { databaseId, tableId, heldId }: FormerTables): void {
  const former = new Database(file);
  toSchemaSix(former);
  const insert = former.prepare(`insert into journal
    (id, caller, digest, idempotency_key, operation, database_id, table_id, table_path, branch, base_version,
     request_id, state, since, version, transaction_id, outcome, bound_version)
    values (?, 'key:k', 'digest', ?, 'update_table', ?, ?, 'orders', null, 3, 'r', ?, ?, ?, ?, ?, ?)`);
  insert.run(['begun', 'k', databaseId, tableId, 'begun', NOW, null, null, null, 5]);
  insert.run(['held', 'h', databaseId, heldId, 'begun', NOW, null, null, null, null]);
  insert.run(['done', 'done', databaseId, tableId, 'committed', NOW, 4, 'transaction', '{"rows_updated":1}', null]);
  former.close();
}

function tableNames(file: string): unknown[] {
  const database = new Database(file);
  // The other processes may still be closing it.
  database.exec('pragma busy_timeout = 5000');
  const rows = database.prepare("select name from sqlite_master where type = 'table' order by name").raw().all([]);
  database.close();
  return rows.flat();
}
