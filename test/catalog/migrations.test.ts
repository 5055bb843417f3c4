import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'libsql';
import {
  createTable,
  nextMessage,
  open,
  refusal,
  startChild,
  temporaryCatalog,
  temporaryFile,
} from './temporary-catalog.ts';

test('an empty file becomes a catalog', async (context) => {
  const file = await temporaryFile(context);
  const catalog = await open(context, file);
  await catalog.ping();
  assert.deepEqual(await catalog.databases.list(), []);
  assert.deepEqual(await catalog.keys.list(), []);
  assert.deepEqual(tableNames(file), [
    'api_keys',
    'databases',
    'grants',
    'journal',
    'namespaces',
    'oauth_clients',
    'releases',
    'removals',
    'renames',
    'settings',
    'signing_keys',
    'tables',
    'transactions',
  ]);
});

test('everything is there when a catalog is opened again', async (context) => {
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
  assert.equal(tableNames(file).length, 13);
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

function tableNames(file: string): unknown[] {
  const database = new Database(file);
  // The other processes may still be closing it.
  database.exec('pragma busy_timeout = 5000');
  const rows = database.prepare("select name from sqlite_master where type = 'table' order by name").raw().all([]);
  database.close();
  return rows.flat();
}
