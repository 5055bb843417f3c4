import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { connect } from '@lancedb/lancedb';
import { readCommitsAfter } from '../../src/engine/commit-history.ts';
import type { Commit, CommitKind } from '../../src/engine/commit-history.ts';
import { findLanded } from '../../src/engine/landed-write.ts';

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

suite('the commit of a write that a crash cut short', () => {
  const history = (...kinds: readonly CommitKind[]): readonly Commit[] =>
    kinds.map((kind, index) => ({
      version: 8 + index,
      kind,
      readVersion: 7 + index,
      restoredVersion: kind === 'restore' ? 7 : undefined,
    }));
  const landed = (kinds: readonly CommitKind[], upTo = Infinity): number | undefined =>
    findLanded(history(...kinds), { after: 7, upTo, kinds: ['append', 'overwrite'] });

  test('is the first that upkeep did not make', () => {
    assert.equal(landed([]), undefined);
    assert.equal(landed(['append']), 8);
    assert.equal(landed(['upkeep', 'upkeep', 'append', 'upkeep']), 10);
    assert.equal(landed(['upkeep', 'upkeep', 'upkeep']), undefined);
  });

  test('is of its own kind', () => {
    assert.equal(landed(['update']), undefined);
    assert.equal(landed(['other', 'append']), undefined);
  });

  test('is not that of the next write', () => {
    assert.equal(landed(['upkeep', 'append'], 8), undefined);
    assert.equal(landed(['append', 'update'], 8), 8);
  });

  test('is the last of several of a long insert', () => {
    assert.equal(landed(['append', 'upkeep', 'append', 'update']), 10);
    assert.equal(landed(['overwrite', 'append']), 9);
  });

  test('is none when it was taken back', () => {
    assert.equal(landed(['append', 'append', 'restore']), undefined);
  });

  test('is not that of a program that had read an earlier version', () => {
    const [commit] = history('append');
    assert.ok(commit);
    assert.equal(
      findLanded([{ ...commit, readVersion: 6 }], { after: 7, upTo: Infinity, kinds: ['append'] }),
      undefined,
    );
  });
});
