import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Catalog } from '../../../src/catalog/catalog.ts';
import type { TableRecord } from '../../../src/model/table.ts';
import { ENTRY, createTable, holdVersion, open, recordCommit, temporaryFile } from '../temporary-catalog.ts';

/** A table on an object store, as two processes see it. */
async function openTable(context: TestContext) {
  const address = await temporaryFile(context);
  const here = await open(context, address);
  const there = await open(context, address);
  const database = await here.databases.create({ name: 'default', root: 's3://tables' });
  const reserved = { databaseId: database.id, path: ['orders'], root: 's3://tables', caller: 'key:k' } as const;
  await here.tables.publish(await here.tables.reserve(reserved), { ...ENTRY, properties: {} });
  const find = async (catalog: Catalog): Promise<TableRecord> => {
    const table = await catalog.tables.find(database.id, ['orders']);
    if (table === undefined) throw new Error('The table is not there.');
    return table;
  };
  return { here, there, database, find, table: await find(here) };
}

test('a new table on an object store is read at the version that was published', async (t) => {
  const { there, find } = await openTable(t);
  assert.equal((await find(there)).recordedVersion, ENTRY.version);
});

test('a table in a folder has none: its readers look at the folder', async (t) => {
  const { here, database } = await openTable(t);
  assert.equal((await createTable(here, database.id, ['local'])).recordedVersion, undefined);
});

test('a recorded write is seen by the next lookup of every process', async (t) => {
  const { here, there, find, table } = await openTable(t);
  for (let version = 2; version < 30; version += 1) {
    await recordCommit(here, table, { ...ENTRY, version });
    assert.equal((await find(there)).recordedVersion, version);
    assert.equal((await find(here)).recordedVersion, version);
  }
});

test('a version never goes back, and that of another branch does not count', async (t) => {
  const { here, find, table } = await openTable(t);
  await recordCommit(here, table, { ...ENTRY, version: 5 });
  await recordCommit(here, table, { ...ENTRY, version: 3 });
  await recordCommit(here, table, { ...ENTRY, version: 9, branch: 'trial' });
  assert.equal((await find(here)).recordedVersion, 5);
});

test('a later version that was found in the store counts, unless a write is pending', async (t) => {
  const { here, there, find, table } = await openTable(t);
  await here.heads.advance(table.id, 4);
  assert.equal((await find(there)).recordedVersion, 4);
  const entry = { id: 'x', caller: 'key:k', digest: 'x', key: undefined, generation: undefined, requestId: 'r' };
  const commit = { operation: 'update_table', branch: undefined, baseVersion: 4, epoch: 0, expected: '{}' };
  const { id: tableId, databaseId, path } = table;
  const pending = { ...entry, ...commit, databaseId, tableId, path, holdsReaders: false };
  await here.journal.begin([pending], { bounds: [], removes: [], isDurable: true });
  await here.heads.advance(table.id, 5);
  assert.equal((await find(there)).recordedVersion, 4);
});

test('heads of many tables, and of tables that are dropped and created again, stay exact', async (t) => {
  const { here, there, database } = await openTable(t);
  const root = 's3://tables';
  for (let round = 1; round <= 5; round += 1) {
    const names = Array.from({ length: 10 }, (_, index) => [`t${index}`] as const);
    for (const path of names) {
      const reservation = await here.tables.reserve({ databaseId: database.id, path, root, caller: 'key:k' });
      await here.tables.publish(reservation, { ...ENTRY, version: round, properties: {} });
      const table = await there.tables.find(database.id, path);
      assert.equal(table?.recordedVersion, round);
      await recordCommit(here, table, { ...ENTRY, version: round + 1 });
      assert.equal((await there.tables.find(database.id, path))?.recordedVersion, round + 1);
    }
    for (const path of names) {
      const table = await there.tables.find(database.id, path);
      if (table !== undefined) await there.tables.drop(table, ENTRY);
      assert.equal(await here.tables.find(database.id, path), undefined);
    }
  }
});

test('a request looks once, and sees what was committed before it began', async (t) => {
  const { here, there, find, table } = await openTable(t);
  const { inRequest = async <Value>(run: () => Promise<Value>) => run() } = there;
  await recordCommit(here, table, { ...ENTRY, version: 7 });
  await inRequest(async () => {
    assert.equal((await find(there)).recordedVersion, 7);
    await holdVersion(here, table.id, { version: 7 });
  });
  await inRequest(async () => assert.equal((await find(there)).heldVersion, 7));
});
