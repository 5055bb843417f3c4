import assert from 'node:assert/strict';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { connect } from '@lancedb/lancedb';
import type { Table } from '@lancedb/lancedb';
import { isMaintenance, locationUri } from '../../../src/model/table.ts';
import { makeFolder } from '../../support/temporary-folder.ts';
import type { Commit } from '../../../src/model/table.ts';
import { readCommitsAfter } from '../../../src/storage/local/commit-history.ts';
import { commitPlan, openTable as openTestEngine } from '../../engine/test-engine.ts';
import { toItems } from '../../engine/sample-tables.ts';

const ROW = { id: 1, value: 1 };

async function openItems(t: TestContext): Promise<{ readonly folder: string; readonly table: Table }> {
  const root = await makeFolder(t);
  const database = await connect(root);
  t.after(() => database.close());
  const table = await database.createTable('items', [ROW, { ...ROW, id: 2 }]);
  return { folder: join(root, 'items.lance'), table };
}

type Step = readonly [expected: string, work: (table: Table) => Promise<unknown>];

/** Per commit: its kind, the rows that it added, and those that the table has then. */
const STEPS: readonly Step[] = [
  ['append 3 5', async (table) => table.add([3, 4, 5].map((id) => ({ ...ROW, id })))],
  ['update 1 5', async (table) => table.update({ where: 'id = 1', values: { value: 2 } })],
  ['update 5 5', async (table) => table.update({ values: { value: 2 } })],
  ['update 0 5', async (table) => table.update({ where: 'id = 99', values: { value: 2 } })],
  ['delete 0 4', async (table) => table.delete('id = 2')],
  ['delete 0 4', async (table) => table.delete('id = 99')],
  ['update 3 6', async (table) => upsert(table, [1, 10, 11])],
  [
    'update 1 7',
    async (table) =>
      table
        .mergeInsert('id')
        .whenNotMatchedInsertAll()
        .execute(rows([12])),
  ],
  [
    'update 0 7',
    async (table) =>
      table
        .mergeInsert('id')
        .whenNotMatchedInsertAll()
        .execute(rows([12])),
  ],
  [
    'update 0 6',
    async (table) =>
      table
        .mergeInsert('id')
        .whenNotMatchedBySourceDelete({ where: 'id = 10' })
        .execute(rows([12])),
  ],
  ['merge 0 6', async (table) => table.addColumns([{ name: 'more', valueSql: 'value + 1' }])],
  ['project 0 6', async (table) => table.alterColumns([{ path: 'more', rename: 'most' }])],
  ['merge 0 6', async (table) => table.alterColumns([{ path: 'most', dataType: 'float' }])],
  ['project 0 6', async (table) => table.dropColumns(['most'])],
  ['index 0 6', async (table) => table.createIndex('id')],
  ['append 1 7', async (table) => table.add(rows([50]))],
  ['reserve 0 7, rewrite 0 7, index 0 7', async (table) => table.optimize()],
  ['drop-index 0 7', async (table) => table.dropIndex('id_idx')],
  ['restore 0 5', async (table) => restore(table, 3)],
  ['overwrite 2 2', async (table) => table.add(rows([1, 2]), { mode: 'overwrite' })],
  ['delete 0 0', async (table) => table.delete('true')],
  ['append 1 1', async (table) => table.add(rows([1]))],
];

function rows(ids: readonly number[]) {
  return ids.map((id) => ({ ...ROW, id }));
}

async function upsert(table: Table, ids: readonly number[]): Promise<unknown> {
  return table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(rows(ids));
}

async function restore(table: Table, version: number): Promise<void> {
  await table.checkout(version);
  await table.restore();
}

test('every commit of the real engine tells what it did and how many rows there are', async (t) => {
  const { folder, table } = await openItems(t);
  for (const [expected, work] of STEPS) {
    await table.checkoutLatest();
    const before = await table.version();
    await work(table);
    const commits = await readCommitsAfter(folder, before);
    assert.equal(commits.map(({ kind, addedRows, rows: all }) => `${kind} ${addedRows} ${all}`).join(', '), expected);
    assert.equal(commits.at(-1)?.rows, await table.countRows());
    assert.ok(commits.every(({ readVersion }) => readVersion >= before));
  }
  const all = await readCommitsAfter(folder, 0);
  assert.deepEqual(
    all.map(({ version }) => version),
    all.map((_commit, index) => index + 1),
  );
  assert.equal(all.find(({ kind }) => kind === 'restore')?.restoredVersion, 3);
  assert.equal(new Set(all.map(({ transactionId }) => transactionId)).size, all.length);
  assert.match(all[0]?.transactionId ?? '', /^[0-9a-f-]{36}$/);
});

test('a commit is known by its manifest, also after its transaction file is gone', async (t) => {
  const { folder, table } = await openItems(t);
  await table.add(rows([3]));
  const before = await readCommitsAfter(folder, 0);
  for (const name of await readdir(join(folder, '_transactions'))) await rm(join(folder, '_transactions', name));
  assert.deepEqual(await readCommitsAfter(folder, 0), before);
  assert.deepEqual(
    before.map(({ kind }) => kind),
    ['overwrite', 'append'],
  );
});

test('a branch has commits of its own', async (t) => {
  const { folder, table } = await openItems(t);
  const branch = await (await table.branches()).create('side');
  await branch.add(rows([3]));
  const [commit] = await readCommitsAfter(join(folder, 'tree', 'side'), 1);
  assert.deepEqual(shown(commit), { kind: 'append', version: 2, readVersion: 1, addedRows: 1, rows: 3 });
});

function shown(commit: Commit | undefined) {
  if (commit === undefined) return undefined;
  const { kind, version, readVersion, addedRows, rows: all } = commit;
  return { kind, version, readVersion, addedRows, rows: all };
}

test('metadata of fields and of the schema is configuration', async (t) => {
  const { engine, location } = await openTestEngine(t, toItems(3));
  const target = { location: location(), branch: undefined };
  const { commits } = engine;
  await commitPlan(engine, target, commits.fieldMetadata([{ path: ['id'], metadata: { unit: 'm' }, replace: false }]));
  await commitPlan(engine, target, commits.schemaMetadata(target, { owner: 'us' }));
  const found = await readCommitsAfter(locationUri(location()), 1);
  assert.deepEqual(
    found.map(({ kind }) => kind),
    ['config', 'config'],
  );
});

test('maintenance is told from writes', () => {
  assert.deepEqual((['index', 'rewrite', 'reserve'] as const).map(isMaintenance), [true, true, true]);
  assert.deepEqual((['append', 'update', 'merge', 'unknown'] as const).map(isMaintenance), [
    false,
    false,
    false,
    false,
  ]);
});
