import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENTRY, createTable, temporaryCatalog } from '../temporary-catalog.ts';

test('attempts are counted by table and work until they are cleared', async (t) => {
  const { catalog } = await temporaryCatalog(t);
  const [refresh, other] = [
    { tableId: 't', work: 'refresh' },
    { tableId: 't', work: 'maintenance' },
  ];
  assert.equal(await catalog.attempts.find(refresh), 0);
  for (const before of [0, 1]) await catalog.attempts.begin(refresh, before);
  assert.deepEqual([await catalog.attempts.find(refresh), await catalog.attempts.find(other)], [2, 0]);
  await catalog.attempts.clear(refresh);
  assert.equal(await catalog.attempts.find(refresh), 0);
});

test('an attempt that is taken back leaves those that began after it', async (t) => {
  const { catalog } = await temporaryCatalog(t);
  const work = { tableId: 't', work: 'refresh' };
  await catalog.attempts.begin(work, 0);
  await catalog.attempts.begin(work, 1);
  await catalog.attempts.takeBack(work, 0);
  assert.equal(await catalog.attempts.find(work), 2);
  await catalog.attempts.takeBack(work, 1);
  assert.equal(await catalog.attempts.find(work), 1);
});

test('the attempts at work on a table are gone with it', async (t) => {
  const { catalog, database } = await temporaryCatalog(t);
  const table = await createTable(catalog, database.id, ['orders']);
  const work = { tableId: table.id, work: 'maintenance' };
  await catalog.attempts.begin(work, 0);
  await catalog.tables.drop(table, ENTRY);
  assert.equal(await catalog.attempts.find(work), 0);
});
