import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal } from '../../support/refusal.ts';
import { commitPlan, openApart, openTable, readRows, sql } from '../test-engine.ts';
import { toItems, toPeople } from '../sample-tables.ts';

test('deletes the rows that match, and counts them', async (t) => {
  const { engine, table } = await openTable(t, toItems(10));
  const outcome = await commitPlan(engine, table, engine.commits.delete(sql('id >= 7')));
  assert.deepEqual(outcome, { rowsDeleted: 3, version: 2 });
  assert.equal((await readRows(t, table)).length, 7);
});

test('accepts that no row matches', async (t) => {
  const { engine, table } = await openTable(t, toItems(2));
  assert.equal((await commitPlan(engine, table, engine.commits.delete(sql('id > 100')))).rowsDeleted, 0);
});

test('does not change the remaining rows, including null structs', async (t) => {
  const { engine, table } = await openTable(t, toPeople(20));
  const before = await readRows(t, table);
  await commitPlan(engine, table, engine.commits.delete(sql('person IS NOT NULL')));
  assert.deepEqual(
    await readRows(t, table),
    before.filter(({ person }) => person === null),
  );
});

test('deletes on a branch only', async (t) => {
  const { engine, table } = await openTable(t, toItems(5));
  await (await (await openApart(t, table)).branches()).create('trial');
  await commitPlan(engine, { ...table, branch: 'trial' }, engine.commits.delete(sql('true')));
  assert.equal((await readRows(t, { ...table, branch: 'trial' })).length, 0);
  assert.equal((await readRows(t, table)).length, 5);
});

test('refuses an unknown column and an expression that is not a condition', async (t) => {
  const { engine, table } = await openTable(t, toItems(5));
  await assert.rejects(
    commitPlan(engine, table, engine.commits.delete(sql('nothing = 1'))),
    refusal('TableColumnNotFound', /nothing/),
  );
  await assert.rejects(commitPlan(engine, table, engine.commits.delete(sql('id + 1'))), refusal('InvalidInput'));
  assert.equal((await readRows(t, table)).length, 5);
});
