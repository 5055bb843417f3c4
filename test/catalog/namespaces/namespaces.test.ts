import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Catalog, NamespacePage } from '../../../src/catalog/catalog.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import { ODD_NAMES } from '../names.ts';
import { ENTRY, createTable, hasNamespace, open, refusal, temporaryCatalog } from '../temporary-catalog.ts';

test('the root is always there', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  assert.equal(await hasNamespace(catalog, database.id, []), true);
});

test('a namespace exists once it is created, in its database only', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const other = await catalog.databases.create({ name: 'other', root: '/other' });
  assert.equal(await hasNamespace(catalog, database.id, ['sales']), false);
  await catalog.namespaces.create({ databaseId: database.id, path: ['sales'], properties: { a: 'b' } }, ENTRY);
  assert.equal(await hasNamespace(catalog, database.id, ['sales']), true);
  assert.equal(await hasNamespace(catalog, database.id, ['sales']), true);
  assert.equal(await hasNamespace(catalog, database.id, ['Sales']), false);
  assert.equal(await hasNamespace(catalog, other.id, ['sales']), false);
});

test('a namespace created by another process is visible at once', async (context) => {
  const { file, catalog, database } = await temporaryCatalog(context);
  const other = await open(context, file);
  assert.equal(await hasNamespace(other, database.id, ['sales']), false);
  await catalog.namespaces.create({ databaseId: database.id, path: ['sales'], properties: {} }, ENTRY);
  assert.equal(await hasNamespace(other, database.id, ['sales']), true);
});

test('refuses a namespace that already exists', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const make = async (path: readonly string[]) =>
    catalog.namespaces.create({ databaseId: database.id, path, properties: {} }, ENTRY);
  await make(['sales']);
  await assert.rejects(make(['sales']), refusal('NamespaceAlreadyExists', /"sales"/));
  await assert.rejects(make([]), refusal('NamespaceAlreadyExists'));
});

test('refuses a namespace whose parent is missing', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const making = catalog.namespaces.create({ databaseId: database.id, path: ['a', 'b', 'c'], properties: {} }, ENTRY);
  await assert.rejects(making, refusal('NamespaceNotFound', /"a\$b"/));
  assert.equal(await hasNamespace(catalog, database.id, ['a']), false);
});

test('names of every odd kind are namespaces of their own', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  for (const name of ODD_NAMES) {
    assert.equal(await hasNamespace(catalog, database.id, [name]), false, name);
    await catalog.namespaces.create({ databaseId: database.id, path: [name], properties: {} }, ENTRY);
  }
  for (const name of ODD_NAMES) assert.equal(await hasNamespace(catalog, database.id, [name]), true, name);
});

async function makeTree(catalog: Catalog, databaseId: string): Promise<void> {
  for (const path of [['a'], ['a', 'b'], ['a', 'b', 'c'], ['ab'], ['b']]) {
    await catalog.namespaces.create({ databaseId, path, properties: { name: path.join('.') } }, ENTRY);
  }
  for (const path of [['a'], ['t'], ['a', 't'], ['a', 'b', 't'], ['ab', 't']] as TablePath[]) {
    await createTable(catalog, databaseId, path);
  }
}

test('lists what is directly below a namespace, in order, in pages', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const databaseId = database.id;
  await makeTree(catalog, databaseId);
  const list = async (page: Omit<NamespacePage, 'databaseId' | 'limit'> & { limit?: number }) =>
    catalog.namespaces.list({ databaseId, limit: 10, ...page });
  assert.deepEqual(await list({ parent: [] }), [['a'], ['ab'], ['b']]);
  assert.deepEqual(await list({ parent: ['a'] }), [['a', 'b']]);
  assert.deepEqual(await list({ parent: [], limit: 1, after: ['a'] }), [['ab']]);
  assert.deepEqual(await list({ parent: [], paths: [['b'], ['nope']] }), [['b']]);
  assert.deepEqual(await list({ parent: [], paths: [] }), []);
  await assert.rejects(list({ parent: ['nope'] }), refusal('NamespaceNotFound'));
});

test('keeps the properties of a namespace; the root has none', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  await makeTree(catalog, database.id);
  assert.deepEqual((await catalog.namespaces.find(database.id, ['a', 'b']))?.properties, { name: 'a.b' });
  assert.deepEqual((await catalog.namespaces.find(database.id, []))?.properties, {});
  assert.equal(await catalog.namespaces.find(database.id, ['nope']), undefined);
});

test('does not drop a namespace with a table or a namespace in it, unless all inside is to go', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const databaseId = database.id;
  await makeTree(catalog, databaseId);
  const drop = async (path: readonly string[], behavior: 'restrict' | 'cascade') =>
    catalog.namespaces.drop({ databaseId, path, behavior }, ENTRY);
  await assert.rejects(drop(['a'], 'restrict'), refusal('NamespaceNotEmpty'));
  await assert.rejects(drop(['ab'], 'restrict'), refusal('NamespaceNotEmpty'));
  assert.equal(await drop(['nope'], 'cascade'), undefined);
  assert.equal((await drop(['b'], 'restrict'))?.removals.length, 0);

  const dropped = await drop(['a'], 'cascade');
  assert.equal(dropped?.removals.length, 2);
  const noted = await catalog.tables.removals();
  assert.deepEqual(
    new Set(noted.map(({ tableId }) => tableId)),
    new Set(dropped?.removals.map(({ tableId }) => tableId)),
  );
  const tables = await catalog.tables.list({ databaseId, limit: 10 });
  assert.deepEqual(
    tables.map(({ path }) => path.join('.')),
    ['a', 'ab.t', 't'],
  );
  for (const path of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
    assert.equal(await hasNamespace(catalog, databaseId, path), false);
  }
});

test('a table that is being created when its namespace is dropped is never published', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const databaseId = database.id;
  await catalog.namespaces.create({ databaseId, path: ['a'], properties: {} }, ENTRY);
  const reservation = await catalog.tables.reserve({ databaseId, path: ['a', 't'], root: '/data', caller: 'key:k' });
  await assert.rejects(
    catalog.namespaces.drop({ databaseId, path: ['a'], behavior: 'restrict' }, ENTRY),
    refusal('NamespaceNotEmpty'),
  );
  const dropped = await catalog.namespaces.drop({ databaseId, path: ['a'], behavior: 'cascade' }, ENTRY);
  assert.deepEqual(dropped?.removals[0]?.location, reservation.location);
  await assert.rejects(
    catalog.tables.publish(reservation, { ...ENTRY, properties: {} }),
    refusal('ConcurrentModification'),
  );
});

test('a namespace is replaced by an empty one in one step', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const databaseId = database.id;
  await makeTree(catalog, databaseId);
  const { removals } = await catalog.namespaces.replace({ databaseId, path: ['a'], properties: { new: 'yes' } }, ENTRY);
  assert.equal(removals.length, 2);
  assert.deepEqual((await catalog.namespaces.find(databaseId, ['a']))?.properties, { new: 'yes' });
  assert.deepEqual(await catalog.namespaces.list({ databaseId, parent: ['a'], limit: 10 }), []);
  await assert.rejects(
    catalog.namespaces.replace({ databaseId, path: [], properties: {} }, ENTRY),
    refusal('NamespaceAlreadyExists'),
  );
});
