import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NewCommit } from '../../../src/catalog/catalog.ts';
import type { TableRecord } from '../../../src/model/table.ts';
import { ENTRY, createTable, temporaryCatalog } from '../temporary-catalog.ts';

const COMMITTED_AT = 1_700_000_000_123_456;

function toCommit(table: TableRecord, version: number, branch?: string): NewCommit {
  const versionMetadata = { entries: { number: `${version}` }, committedAtMicroseconds: COMMITTED_AT + version };
  return { table, commit: { ...ENTRY, version, branch }, versionMetadata };
}

test('metadata is listed by version, of one branch and one table, within a span', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const [one, other] = [
    await createTable(catalog, database.id, ['one']),
    await createTable(catalog, database.id, ['other']),
  ];
  const commits = [2, 3, 4].map((version) => toCommit(one, version));
  await catalog.journal.record([...commits, toCommit(one, 3, 'trial'), toCommit(other, 3)], true);
  const found = await catalog.versionMetadata.list({ tableId: one.id, branch: undefined, from: 3, to: 4 });
  assert.deepEqual(
    found,
    new Map([
      [3, { entries: { number: '3' }, committedAtMicroseconds: COMMITTED_AT + 3 }],
      [4, { entries: { number: '4' }, committedAtMicroseconds: COMMITTED_AT + 4 }],
    ]),
  );
  const onBranch = await catalog.versionMetadata.list({ tableId: one.id, branch: 'trial', from: 0, to: 9 });
  assert.deepEqual([...onBranch.keys()], [3]);
});

test('metadata of a version that has its number again replaces the former', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const table = await createTable(catalog, database.id, ['table']);
  await catalog.journal.record([toCommit(table, 2, 'trial')], true);
  const again = { entries: { author: 'Ann' }, committedAtMicroseconds: COMMITTED_AT };
  await catalog.journal.record([{ ...toCommit(table, 2, 'trial'), versionMetadata: again }], true);
  const found = await catalog.versionMetadata.list({ tableId: table.id, branch: 'trial', from: 2, to: 2 });
  assert.deepEqual(found, new Map([[2, again]]));
});

test('metadata is not stored without the record of its version', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const table = await createTable(catalog, database.id, ['table']);
  await catalog.tables.drop(table, ENTRY);
  assert.deepEqual(await catalog.journal.record([toCommit(table, 2)], true), [undefined]);
  assert.deepEqual(await catalog.versionMetadata.listVersions(table.id), []);
});

test('metadata is removed with its versions, its branch and its table, and with nothing else', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const { journal, versionMetadata, tables } = catalog;
  const table = await createTable(catalog, database.id, ['table']);
  const listOf = async (branch?: string): Promise<readonly number[]> => [
    ...(await versionMetadata.list({ tableId: table.id, branch, from: 0, to: 9 })).keys(),
  ];
  const numbers = [2, 3, 4, 5];
  await journal.record(
    [undefined, 'trial'].flatMap((branch) => numbers.map((each) => toCommit(table, each, branch))),
    true,
  );
  await journal.record([{ table, commit: { ...ENTRY, version: 5 }, removedVersions: [2, 7] }], true);
  await versionMetadata.remove(table.id, [3]);
  assert.deepEqual([await listOf(), await listOf('trial')], [[4, 5], numbers]);
  await journal.record([{ table, commit: { ...ENTRY, version: 1, branch: 'trial' }, removedVersions: 'all' }], true);
  assert.deepEqual([await listOf(), await listOf('trial')], [[4, 5], []]);
  await tables.rename(table, ['renamed'], ENTRY);
  assert.deepEqual(await listOf(), [4, 5]);
  await tables.drop({ ...table, path: ['renamed'] }, ENTRY);
  assert.deepEqual(await listOf(), []);
});
