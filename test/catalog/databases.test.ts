import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENTRY, open, refusal, temporaryCatalog, temporaryFile } from './temporary-catalog.ts';

test('a database is found by its exact name', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  assert.deepEqual(await catalog.databases.find('default'), database);
  assert.deepEqual(await catalog.databases.find('default'), database);
  for (const name of ['Default', 'default ', 'defaul', '%', '']) {
    assert.equal(await catalog.databases.find(name), undefined, name);
  }
});

test('a database that was missing is found once it exists', async (context) => {
  const catalog = await open(context, await temporaryFile(context));
  assert.equal(await catalog.databases.find('sales'), undefined);
  const created = await catalog.databases.create({ name: 'sales', root: 's3://bucket/sales' });
  assert.deepEqual(created, { id: created.id, name: 'sales', root: 's3://bucket/sales' });
  assert.deepEqual(await catalog.databases.find('sales'), created);
});

test('databases are listed by name', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  for (const name of ['sales', 'Sales', 'über', 'a']) await catalog.databases.create({ name, root: '/data' });
  const names = (await catalog.databases.list()).map(({ name }) => name);
  assert.deepEqual(names, ['Sales', 'a', 'default', 'sales', 'über']);
});

test('refuses a name that is taken', async (context) => {
  const { file, catalog } = await temporaryCatalog(context);
  const other = await open(context, file);
  for (const each of [catalog, other]) {
    const again = each.databases.create({ name: 'default', root: '/x' });
    await assert.rejects(again, refusal('DatabaseAlreadyExists', /"default"/));
  }
  assert.equal((await catalog.databases.find('default'))?.root, '/data');
});

test('refuses a name that breaks the rule of names', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  for (const name of ['', '.', '..', 'a/b', 'a$b', 'a\u0000', 'a\nb', '\ud800', 'x'.repeat(256)]) {
    await assert.rejects(catalog.databases.create({ name, root: '/data' }), refusal('InvalidInput'));
  }
});

test('of many who make one database at once, one succeeds', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const making = Array.from({ length: 10 }, async () => catalog.databases.create({ name: 'new', root: '/data' }));
  const outcomes = await Promise.allSettled(making);
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
});

test('an empty database is dropped with its grants, so that the next of its name inherits none', async (context) => {
  const { file, catalog } = await temporaryCatalog(context);
  const other = await open(context, file);
  await catalog.databases.create({ name: 'sales', root: '/sales' });
  assert.ok(await other.databases.find('sales'));
  const grant = { role: 'admin', database: 'sales', path: [] } as const;
  const everywhere = { role: 'reader', database: undefined, path: [] } as const;
  for (const each of [grant, everywhere]) await catalog.grants.add('token:x#y', each);
  await catalog.databases.drop('sales');
  for (const each of [catalog, other]) {
    assert.equal(await each.databases.find('sales'), undefined);
    assert.deepEqual(await each.grants.of('token:x#y'), [everywhere]);
  }
  await assert.rejects(catalog.databases.drop('sales'), refusal('DatabaseNotFound', /"sales"/));
  await catalog.databases.create({ name: 'sales', root: '/sales' });
});

test('a database that holds anything is not dropped, nor is the default one', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const { id } = await catalog.databases.create({ name: 'sales', root: '/sales' });
  await catalog.namespaces.create({ databaseId: id, path: ['a'], properties: {} }, ENTRY);
  await assert.rejects(catalog.databases.drop('sales'), refusal('DatabaseNotEmpty', /"sales"/));
  const stock = await catalog.databases.create({ name: 'stock', root: '/stock' });
  await catalog.tables.reserve({ databaseId: stock.id, path: ['t'], root: '/stock', caller: 'key:k' });
  await assert.rejects(catalog.databases.drop('stock'), refusal('DatabaseNotEmpty'));
  await assert.rejects(catalog.databases.drop('default'), refusal('InvalidInput', /default/));
});

test('creating something in a database that is dropped meanwhile is a conflict', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const { id: databaseId } = await catalog.databases.create({ name: 'sales', root: '/sales' });
  await catalog.databases.drop('sales');
  const table = catalog.tables.reserve({ databaseId, path: ['t'], root: '/sales', caller: 'key:k' });
  await assert.rejects(table, refusal('ConcurrentModification'));
  const namespace = catalog.namespaces.create({ databaseId, path: ['n'], properties: {} }, ENTRY);
  await assert.rejects(namespace, refusal('ConcurrentModification'));
});
