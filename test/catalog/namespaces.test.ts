import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ODD_NAMES } from './names.ts';
import { open, refusal, temporaryCatalog } from './temporary-catalog.ts';

test('the root is always there', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  assert.equal(await catalog.namespaces.exists(database.id, []), true);
});

test('a namespace is there once it is made, in its own database only', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const other = await catalog.databases.create({ name: 'other', root: '/other' });
  assert.equal(await catalog.namespaces.exists(database.id, ['sales']), false);
  await catalog.namespaces.create({ databaseId: database.id, path: ['sales'], properties: { a: 'b' } });
  assert.equal(await catalog.namespaces.exists(database.id, ['sales']), true);
  assert.equal(await catalog.namespaces.exists(database.id, ['sales']), true);
  assert.equal(await catalog.namespaces.exists(database.id, ['Sales']), false);
  assert.equal(await catalog.namespaces.exists(other.id, ['sales']), false);
});

test('a namespace made by another process is there at once', async (context) => {
  const { file, catalog, database } = await temporaryCatalog(context);
  const other = await open(context, file);
  assert.equal(await other.namespaces.exists(database.id, ['sales']), false);
  await catalog.namespaces.create({ databaseId: database.id, path: ['sales'], properties: {} });
  assert.equal(await other.namespaces.exists(database.id, ['sales']), true);
});

test('refuses a namespace that is there', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const make = async (path: readonly string[]): Promise<void> =>
    catalog.namespaces.create({ databaseId: database.id, path, properties: {} });
  await make(['sales']);
  await assert.rejects(make(['sales']), refusal('NamespaceAlreadyExists', /"sales"/));
  await assert.rejects(make([]), refusal('NamespaceAlreadyExists'));
});

test('refuses a namespace whose parent is missing', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const making = catalog.namespaces.create({ databaseId: database.id, path: ['a', 'b', 'c'], properties: {} });
  await assert.rejects(making, refusal('NamespaceNotFound', /"a\$b"/));
  assert.equal(await catalog.namespaces.exists(database.id, ['a']), false);
});

test('names of every odd kind are namespaces of their own', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  for (const name of ODD_NAMES) {
    assert.equal(await catalog.namespaces.exists(database.id, [name]), false, name);
    await catalog.namespaces.create({ databaseId: database.id, path: [name], properties: {} });
  }
  for (const name of ODD_NAMES) assert.equal(await catalog.namespaces.exists(database.id, [name]), true, name);
});
