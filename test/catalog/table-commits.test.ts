import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENTRY, createTable, temporaryCatalog } from './temporary-catalog.ts';

const MANY = Array.from({ length: 150 }, (_, index) => index);

test('commits that come at once are all recorded, in the order in which they came', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const tables = [
    await createTable(catalog, database.id, ['orders']),
    await createTable(catalog, database.id, ['items']),
  ];
  const records = await Promise.all(
    MANY.map(async (version) => {
      const table = tables[version % 2];
      assert.ok(table);
      return catalog.tables.commit(table, { ...ENTRY, version });
    }),
  );
  const ids = records.map(({ transactionId }) => transactionId);
  assert.deepEqual(ids, ids.toSorted());
  assert.equal(new Set(ids).size, MANY.length);
  for (const version of [0, 1, 63, 64, 149]) {
    const found = await catalog.transactions.find(ids[version] ?? '');
    assert.deepEqual([found?.version, found?.tableId], [version, tables[version % 2]?.id]);
  }
});

test('each of many sees the properties of those before it, and none of those after', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const table = await createTable(catalog, database.id, ['orders'], { first: '0' });
  const records = await Promise.all([
    catalog.tables.commit(table, ENTRY),
    catalog.tables.commit(table, { ...ENTRY, properties: { a: '1', last: 'a' } }),
    catalog.tables.commit(table, ENTRY),
    catalog.tables.commit(table, { ...ENTRY, properties: { b: '2', last: 'b' } }),
  ]);
  assert.deepEqual(
    records.map(({ properties }) => properties),
    [
      { first: '0' },
      { first: '0', a: '1', last: 'a' },
      { first: '0', a: '1', last: 'a' },
      { first: '0', a: '1', last: 'b', b: '2' },
    ],
  );
  assert.deepEqual((await catalog.tables.find(database.id, ['orders']))?.properties, records[3]?.properties);
});

test('of many that come at once, only the faulty ones are refused', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const table = await createTable(catalog, database.id, ['orders']);
  const outcomes = await Promise.allSettled([
    catalog.tables.commit(table, { ...ENTRY, version: 2 }),
    catalog.tables.commit({ ...table, id: 'gone' }, { ...ENTRY, version: 3 }),
    catalog.tables.commit(table, { ...ENTRY, version: 4, requestId: 'a\u0000b' }),
    catalog.tables.commit(table, { ...ENTRY, version: 5 }),
  ]);
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.kind : 'recorded')),
    ['recorded', 'TableNotFound', 'InvalidInput', 'recorded'],
  );
  const feed = await catalog.transactions.list({ databaseId: database.id, limit: 10 });
  assert.deepEqual(
    feed.map(({ version }) => version),
    [1, 2, 5],
  );
});
