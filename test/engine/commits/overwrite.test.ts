import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Table } from 'apache-arrow';
import type { CheckedStream } from '../../../src/arrow/stream/checked-stream.ts';
import { pullChunks } from '../../../src/arrow/stream/chunk-source.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { TableState } from '../../../src/model/table.ts';
import { refusal } from '../../support/refusal.ts';
import { commitPlan, openApart, openFixture, openTable, readRows, sql, toStream } from '../test-engine.ts';
import { toItems } from '../sample-tables.ts';

/** Replaces all rows in one commit. */
async function overwrite(engine: Engine, { location, branch }: TableState, data: Table | CheckedStream) {
  const stream = 'chunks' in data ? data : await toStream(data);
  const source = await pullChunks(stream, 2);
  const plan = engine.commits.overwrite({ location, branch, schema: stream.schema, source, storageOptions: {} });
  return commitPlan(engine, { location, branch }, plan);
}

test('replaces rows and schema by a new version and keeps the old ones', async (t) => {
  const { engine, table } = await openTable(t, toItems(3));
  assert.deepEqual(await overwrite(engine, table, await openFixture('dict')), { version: 2, rows: 50 });
  const { schema } = await engine.describeTable(table);
  assert.deepEqual(
    schema.fields.map((field) => field.name),
    ['id', 'd'],
  );
  assert.equal((await readRows(t, { ...table, version: 1 })).length, 3);
});

test('overwrites a branch and does not change the main one', async (t) => {
  const { engine, table } = await openTable(t, toItems(3));
  await (await (await openApart(t, table)).branches()).create('trial');
  await overwrite(engine, { ...table, branch: 'trial' }, toItems(5));
  assert.equal((await readRows(t, { ...table, branch: 'trial' })).length, 5);
  assert.equal((await readRows(t, table)).length, 3);
});

test('reports a commit for which the engine stored fewer rows than were sent', async (t) => {
  const { engine, table } = await openTable(t, toItems(3));
  const stream = await toStream(toItems(10));
  const pulled = await pullChunks(stream, 2);
  const source = { ...pulled, pulled: pulled.pulled.map((chunk) => ({ ...chunk, rows: 11 })) };
  const plan = engine.commits.overwrite({ ...table, schema: stream.schema, source, storageOptions: {} });
  const { version, fault } = await engine.useLatest(table, async (open) => (await plan.prepare(open)).commit());
  assert.equal(version, 2);
  refusal('InvalidInput', /malformed/)(fault);
});

test('leaves a table that can be updated and overwritten again', async (t) => {
  const { engine, table } = await openTable(t, toItems(3));
  await overwrite(engine, table, toItems(5));
  await overwrite(engine, table, await openFixture('map'));
  await overwrite(engine, table, toItems(7));
  const update = { assignments: [{ path: ['score'] as const, expression: sql('2') }], predicate: undefined };
  assert.equal((await commitPlan(engine, table, engine.commits.update(table, update))).rowsUpdated, 7);
  assert.equal((await engine.describeTable(table)).version, 5);
});
