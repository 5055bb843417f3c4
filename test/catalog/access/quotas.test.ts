import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Catalog } from '../../../src/catalog/catalog.ts';
import { ENTRY, createTable, open, refusal, temporaryCatalog } from '../temporary-catalog.ts';

async function makeKey(catalog: Catalog, digest = 'd'): Promise<string> {
  const { id } = await catalog.keys.create({ name: 'k', digest, grants: [] });
  return `key:${id}`;
}

test('limits are added one by one, replaced and removed', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const key = await makeKey(catalog);
  assert.deepEqual(await catalog.quotas.of(key), {});
  assert.deepEqual(await catalog.quotas.set(key, { rows: 10, bytes: 0 }), { rows: 10, bytes: 0 });
  assert.deepEqual(await catalog.quotas.set(key, { rows: 20, requestsPerSecond: 5 }), {
    requestsPerSecond: 5,
    rows: 20,
    bytes: 0,
  });
  assert.deepEqual(await catalog.quotas.of(key), { requestsPerSecond: 5, rows: 20, bytes: 0 });
  assert.deepEqual(await catalog.quotas.remove(key, ['bytes', 'tables']), { requestsPerSecond: 5, rows: 20 });
  assert.equal(await catalog.quotas.remove(key, ['bytes']), undefined);
  assert.deepEqual(await catalog.quotas.remove(key), {});
  assert.equal(await catalog.quotas.remove(key), undefined);
  assert.deepEqual(await catalog.quotas.list({ limit: 10 }), []);
});

test('the lookup of a key, a client and a database brings its quota along, in every process', async (context) => {
  const { file, catalog } = await temporaryCatalog(context);
  const other = await open(context, file);
  const key = await makeKey(catalog, 'digest');
  const { id } = await catalog.clients.create({ name: 'c', digest: 'e', grants: [] });
  const database = await catalog.databases.create({ name: 'sales' });
  assert.equal((await other.keys.findByDigest('digest'))?.quota, undefined);
  assert.equal((await other.clients.find(id))?.quota, undefined);
  assert.equal((await other.databases.find('sales'))?.quota, undefined);
  await catalog.quotas.set(key, { concurrentReads: 1 });
  await catalog.quotas.set(`client:${id}`, { concurrentWrites: 2 });
  await catalog.quotas.set(`database:${database.id}`, { tables: 3 });
  assert.deepEqual((await other.keys.findByDigest('digest'))?.quota, { concurrentReads: 1 });
  assert.deepEqual((await other.clients.find(id))?.quota, { concurrentWrites: 2 });
  assert.deepEqual((await other.databases.find('sales'))?.quota, { tables: 3 });
  await catalog.quotas.remove(key);
  assert.equal((await other.keys.findByDigest('digest'))?.quota, undefined);
});

test('refuses a quota of what does not exist', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  await assert.rejects(catalog.quotas.set('key:none', { rows: 1 }), refusal('CredentialNotFound'));
  await assert.rejects(catalog.quotas.set('client:none', { rows: 1 }), refusal('CredentialNotFound'));
  await assert.rejects(catalog.quotas.set('constructor:none', { rows: 1 }), refusal('CredentialNotFound'));
  await assert.rejects(catalog.quotas.set('database:none', { rows: 1 }), refusal('DatabaseNotFound'));
});

test('the quota of a database ends with it', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const { id } = await catalog.databases.create({ name: 'sales' });
  await catalog.quotas.set(`database:${id}`, { rows: 1 });
  assert.deepEqual(await catalog.quotas.list({ limit: 10 }), [
    { subject: `database:${id}`, quota: { rows: 1 }, databaseName: 'sales' },
  ]);
  await catalog.databases.drop('sales');
  assert.deepEqual(await catalog.quotas.list({ limit: 10 }), []);
});

test('lists quotas page by page', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const keys = [await makeKey(catalog, 'a'), await makeKey(catalog, 'b'), await makeKey(catalog, 'c')].toSorted();
  for (const key of keys) await catalog.quotas.set(key, { rows: 1 });
  const first = await catalog.quotas.list({ limit: 2 });
  assert.deepEqual(
    first.map(({ subject }) => subject),
    keys.slice(0, 2),
  );
  assert.deepEqual(await catalog.quotas.list({ after: keys[1], limit: 2 }), [{ subject: keys[2], quota: { rows: 1 } }]);
});

test('the usage of a database and of a creator is the sum of what was measured of their tables', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const other = await catalog.databases.create({ name: 'other' });
  const subject = `database:${database.id}`;
  const a = await createTable(catalog, database.id, ['a']);
  const b = await createTable(catalog, database.id, ['b']);
  const c = await createTable(catalog, other.id, ['c']);
  assert.equal(a.createdBy, 'key:k');
  assert.deepEqual(await catalog.sizes.usage(subject), { tables: 2, rows: 0, bytes: 0, unmeasured: 2 });
  assert.deepEqual(
    (await catalog.sizes.list(subject, { unmeasuredOnly: true, limit: 10 })).map(({ id }) => id),
    // Ids of the same millisecond are in no order.
    [a.id, b.id].toSorted(),
  );
  await catalog.sizes.set(a.id, { rows: 5, bytes: 6_000_000_000 }, 1);
  await catalog.sizes.set(c.id, { rows: 1, bytes: 1 }, 1);
  assert.deepEqual(await catalog.sizes.find(a.id), { rows: 5, bytes: 6_000_000_000 });
  assert.equal(await catalog.sizes.find(b.id), undefined);
  assert.deepEqual(await catalog.sizes.usage(subject), { tables: 2, rows: 5, bytes: 6_000_000_000, unmeasured: 1 });
  assert.deepEqual(await catalog.sizes.usage('key:k'), { tables: 3, rows: 6, bytes: 6_000_000_001, unmeasured: 1 });
  assert.deepEqual(await catalog.sizes.usage('key:none'), { tables: 0, rows: 0, bytes: 0, unmeasured: 0 });
});

test('sizes are measured again when the first size limit is set', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const subject = `database:${database.id}`;
  const table = await createTable(catalog, database.id, ['a']);
  await catalog.sizes.set(table.id, { rows: 5, bytes: 6 }, 1);
  await catalog.quotas.set(subject, { requestsPerSecond: 1 });
  assert.equal((await catalog.sizes.usage(subject)).unmeasured, 0);
  await catalog.quotas.set(subject, { rows: 1 });
  assert.equal((await catalog.sizes.usage(subject)).unmeasured, 1);
  await catalog.sizes.set(table.id, { rows: 5, bytes: 6 }, 1);
  await catalog.quotas.set(subject, { bytes: 1 });
  assert.equal((await catalog.sizes.usage(subject)).unmeasured, 0);
});

test('the size of a version that is not the latest any more changes nothing', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const { id: databaseId } = await catalog.databases.create({ name: 'remote', root: 's3://tables' });
  const wanted = { databaseId, path: ['orders'], root: 's3://tables', caller: 'key:k' } as const;
  const reservation = await catalog.tables.reserve(wanted);
  await catalog.tables.publish(reservation, { ...ENTRY, properties: {} });
  await catalog.heads.advance(reservation.tableId, 3);
  await catalog.sizes.set(reservation.tableId, { rows: 3, bytes: 30 }, 3);
  await catalog.sizes.set(reservation.tableId, { rows: 2, bytes: 20 }, 2);
  assert.deepEqual(await catalog.sizes.find(reservation.tableId), { rows: 3, bytes: 30 });
  await catalog.sizes.set(reservation.tableId, { rows: 4, bytes: 40 }, 4);
  assert.deepEqual(await catalog.sizes.find(reservation.tableId), { rows: 4, bytes: 40 });
});
