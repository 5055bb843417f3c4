import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from '@lancedb/lancedb';
import { readCommitsAfter } from '../../src/storage/commit-history.ts';

test('tells of every commit of the real engine what it did', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-commits-'));
  t.after(async () => rm(folder, { recursive: true, force: true }));
  const database = await connect(folder);
  t.after(() => database.close());
  const row = { id: 1, value: 1 };
  const table = await database.createTable('items', [row]);
  await table.add([{ ...row, id: 2 }]);
  await table.update({ where: 'id = 1', values: { value: 2 } });
  await table.update({ where: 'id = 99', values: { value: 2 } });
  await table.delete('id = 2');
  await table.delete('id = 99');
  await table
    .mergeInsert('id')
    .whenMatchedUpdateAll()
    .whenNotMatchedInsertAll()
    .execute([row, { ...row, id: 3 }]);
  await table
    .mergeInsert('id')
    .whenNotMatchedInsertAll()
    .execute([{ ...row, id: 4 }]);
  await table.createIndex('id');
  await table.add([{ ...row, id: 5 }]);
  await table.optimize();
  await table.checkout(3);
  await table.restore();
  await table.add([row], { mode: 'overwrite' });
  await table.addColumns([{ name: 'more', valueSql: 'value + 1' }]);
  const branch = await (await table.branches()).create('side');
  await branch.add([{ ...row, more: 1 }]);

  const main = await readCommitsAfter(join(folder, 'items.lance'), 1);
  assert.deepEqual(
    main.map(({ kind }) => kind),
    'append update update delete delete update update upkeep append upkeep upkeep upkeep restore overwrite other'.split(
      ' ',
    ),
  );
  assert.deepEqual(
    main.map(({ version }) => version),
    main.map((_commit, index) => index + 2),
  );
  assert.equal(main.find(({ kind }) => kind === 'restore')?.restoredVersion, 3);
  const side = await readCommitsAfter(join(folder, 'items.lance', 'tree', 'side'), 16);
  assert.deepEqual(
    side.map(({ kind, version, readVersion }) => ({ kind, version, readVersion })),
    [{ kind: 'append', version: 17, readVersion: 16 }],
  );
});
