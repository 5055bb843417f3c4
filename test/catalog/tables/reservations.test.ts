import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import {
  ENTRY,
  NOW,
  findState,
  nextMessage,
  open,
  refusal,
  startChild,
  temporaryCatalog,
} from '../temporary-catalog.ts';

const PUBLISH = { ...ENTRY, properties: { owner: 'sales' } };

test('a reserved table is not to be seen, a published one is', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const { tables } = catalog;
  const path = ['orders'] as const;
  assert.equal(await findState(catalog, database.id, path), 'absent');

  const reservation = await tables.reserve({ databaseId: database.id, path, root: '/data', caller: 'key:k' });
  assert.equal(await findState(catalog, database.id, path), 'reserved');
  assert.equal(await tables.find(database.id, path), undefined);
  assert.deepEqual(await tables.list({ databaseId: database.id, limit: 10 }), []);

  const { transactionId } = await tables.publish(reservation, PUBLISH);
  assert.equal(await findState(catalog, database.id, path), 'published');
  const listed = {
    id: reservation.tableId,
    databaseId: database.id,
    path: ['orders'],
    location: reservation.location,
    heldVersion: undefined,
  };
  const table = { ...listed, properties: { owner: 'sales' }, createdBy: 'key:k' };
  assert.deepEqual(await tables.find(database.id, path), table);
  assert.deepEqual(await tables.list({ databaseId: database.id, limit: 10 }), [listed]);
  assert.deepEqual(await catalog.transactions.find(transactionId), {
    id: transactionId,
    databaseId: database.id,
    tableId: reservation.tableId,
    path: ['orders'],
    ...ENTRY,
    committedAt: NOW,
  });
});

test('a reservation has a new directory below the root', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const table = { databaseId: database.id, path: ['Orders 1'] as const, root: '/data', caller: 'key:k' };
  const first = await catalog.tables.reserve(table);
  assert.equal(first.location.kind, 'listed');
  assert.equal(first.location.root, '/data');
  assert.equal(first.location.directory, `orders-1-${first.tableId}`);
  await catalog.tables.abandon(first);
  const second = await catalog.tables.reserve(table);
  assert.notEqual(second.location.directory, first.location.directory);
});

test('refuses a name that is reserved or published', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const table = { databaseId: database.id, path: ['orders'] as const, root: '/data', caller: 'key:k' };
  const reservation = await catalog.tables.reserve(table);
  await assert.rejects(catalog.tables.reserve(table), refusal('TableAlreadyExists', /"orders" already exists/));
  await catalog.tables.publish(reservation, PUBLISH);
  await assert.rejects(catalog.tables.reserve(table), refusal('TableAlreadyExists', /"orders" already exists/));
});

test('several databases and namespaces may use the same name', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const other = await catalog.databases.create({ name: 'other', root: '/other' });
  await catalog.namespaces.create({ databaseId: database.id, path: ['a'], properties: {} }, ENTRY);
  const reserve = async (databaseId: string, path: readonly [string, ...string[]]): Promise<unknown> =>
    catalog.tables.reserve({ databaseId, path, root: '/data', caller: 'key:k' });
  await reserve(database.id, ['a']);
  await reserve(database.id, ['a', 'a']);
  await reserve(other.id, ['a']);
});

test('refuses a table whose namespace is missing', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const path = ['a', 'b', 'orders'] as const;
  const reserving = catalog.tables.reserve({ databaseId: database.id, path, root: '/data', caller: 'key:k' });
  await assert.rejects(reserving, refusal('NamespaceNotFound', /"a\$b"/));
  assert.equal(await findState(catalog, database.id, path), 'absent');
});

test('an abandoned name is free again, and abandoning twice does no harm', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const table = { databaseId: database.id, path: ['orders'] as const, root: '/data', caller: 'key:k' };
  const first = await catalog.tables.reserve(table);
  await catalog.tables.abandon(first);
  assert.equal(await findState(catalog, database.id, table.path), 'absent');
  await catalog.tables.reserve(table);
  await catalog.tables.abandon(first);
  assert.equal(await findState(catalog, database.id, table.path), 'reserved');
});

test('abandoning after publishing leaves the table', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const path = ['orders'] as const;
  const reservation = await catalog.tables.reserve({ databaseId: database.id, path, root: '/data', caller: 'key:k' });
  await catalog.tables.publish(reservation, PUBLISH);
  await catalog.tables.abandon(reservation);
  assert.equal(await findState(catalog, database.id, path), 'published');
});

test('refuses to publish what was abandoned or published before, and records nothing', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const path = ['orders'] as const;
  const table = { databaseId: database.id, path, root: '/data', caller: 'key:k' };
  const abandoned = await catalog.tables.reserve(table);
  await catalog.tables.abandon(abandoned);
  await assert.rejects(catalog.tables.publish(abandoned, PUBLISH), refusal('ConcurrentModification'));
  const published = await catalog.tables.reserve(table);
  await catalog.tables.publish(published, PUBLISH);
  await assert.rejects(catalog.tables.publish(published, PUBLISH), refusal('ConcurrentModification'));
  assert.equal((await catalog.transactions.list({ databaseId: database.id, limit: 10 })).length, 1);
});

test('of several catalogs that reserve one name at once, one succeeds', async (context) => {
  const { file, database } = await temporaryCatalog(context);
  const catalogs = await Promise.all(Array.from({ length: 4 }, async () => open(context, file)));
  for (let round = 0; round < 20; round += 1) {
    const table = { databaseId: database.id, path: [`table ${round}`] as const, root: '/data', caller: 'key:k' };
    const outcomes = await Promise.allSettled(catalogs.map(async ({ tables }) => tables.reserve(table)));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.ok(refusal('TableAlreadyExists')(outcome.reason));
    }
  }
});

test('of several processes that reserve the same fifty names, each name has one winner', async (context) => {
  const { file, catalog, database } = await temporaryCatalog(context);
  const children = [0, 1, 2, 3].map((seed) =>
    startChild(context, 'reserve', [file, database.id, '50', String(seed % 2)]),
  );
  await Promise.all(children.map(nextMessage));
  const results = children.map(nextMessage);
  for (const child of children) child.send('go');
  const won = (await Promise.all(results)).flat();
  const expected = Array.from({ length: 50 }, (_, index) => `table ${index}`);
  assert.equal(won.length, 50);
  assert.deepEqual(new Set(won), new Set(expected));
  assert.equal((await catalog.tables.unfinished()).reservations.length, 50);
});

test('a process that dies between reserving and publishing leaves its reservation to be found', async (context) => {
  const { file, catalog, database } = await temporaryCatalog(context);
  const child = startChild(context, 'hang', [file, database.id, 'orders']);
  assert.equal(await nextMessage(child), 'won');
  child.kill('SIGKILL');
  await once(child, 'exit');

  assert.equal(await catalog.tables.find(database.id, ['orders']), undefined);
  assert.deepEqual(await catalog.tables.list({ databaseId: database.id, limit: 10 }), []);
  const { reservations, held } = await catalog.tables.unfinished();
  assert.deepEqual(held, []);
  const [reservation] = reservations;
  assert.ok(reservation);
  assert.equal(reservations.length, 1);
  const { tableId } = reservation;
  const location = { kind: 'listed', root: '/data', directory: `orders-${tableId}` };
  assert.deepEqual(reservation, { tableId, databaseId: database.id, path: ['orders'], location });

  await catalog.tables.abandon(reservation);
  assert.deepEqual(await catalog.tables.unfinished(), { reservations: [], held: [] });
  await catalog.tables.reserve({ databaseId: database.id, path: ['orders'], root: '/data', caller: 'key:k' });
});

test('writes acknowledged to a process survive its death', async (context) => {
  const { file, catalog, database } = await temporaryCatalog(context);
  const path = ['orders'] as const;
  const reservation = await catalog.tables.reserve({ databaseId: database.id, path, root: '/data', caller: 'key:k' });
  await catalog.tables.publish(reservation, PUBLISH);
  const child = startChild(context, 'commit', [file, database.id, 'orders']);
  const acknowledged: unknown[] = [];
  while (acknowledged.length < 25) acknowledged.push(await nextMessage(child));
  child.kill('SIGKILL');
  await once(child, 'exit');
  for (const id of acknowledged) assert.ok(await catalog.transactions.find(String(id)), String(id));
  await catalog.tables.abandon(reservation);
});
