import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field, Float32, Float64, Int32, Int64, Schema, Table, Utf8, vectorFromArray } from 'apache-arrow';
import type { Engine } from '../../../src/engine/engine.ts';
import type { TableState } from '../../../src/model/table.ts';
import { refusal } from '../../support/refusal.ts';
import { commitPlan, openApart, openTable, readRows, toChunk, toStream } from '../test-engine.ts';
import { toItems, toPeople, toTable, vectorType } from '../sample-tables.ts';

/** Adds the rows in one commit. */
async function append(engine: Engine, table: TableState, rows: Table) {
  const stream = await toStream(rows);
  const chunk = await toChunk(stream);
  return commitPlan(engine, table, engine.commits.append({ schema: stream.schema, chunk }));
}

test('adds the rows in one version', async (t) => {
  const { engine, table } = await openTable(t, toItems(3));
  assert.deepEqual(await append(engine, table, toItems(4)), { version: 2, rows: 4 });
  assert.equal((await readRows(t, table)).length, 7);
});

test('a stream without rows adds nothing and commits no version', async (t) => {
  const { engine, table } = await openTable(t, toItems(3));
  assert.deepEqual(await append(engine, table, toItems(0)), { version: 1, rows: 0 });
  assert.equal((await engine.describeTable(table)).version, 1);
});

test('appends to a branch only', async (t) => {
  const { engine, table } = await openTable(t, toItems(3));
  await (await (await openApart(t, table)).branches()).create('trial');
  await append(engine, { ...table, branch: 'trial' }, toItems(2));
  assert.equal((await readRows(t, { ...table, branch: 'trial' })).length, 5);
  assert.equal((await readRows(t, table)).length, 3);
});

test('columns that may be null can be left out, and come in any order', async (t) => {
  const { engine, table } = await openTable(t, toItems(1));
  const rows = toTable({ score: [new Float64(), [9]], id: [new Int32(), [7]] });
  await append(engine, table, rows);
  assert.deepEqual((await readRows(t, table)).at(-1), { id: 7, name: null, score: 9 });
});

test('null structs stay null', async (t) => {
  const { engine, table } = await openTable(t, toPeople(10));
  const before = await readRows(t, table);
  await append(engine, table, toPeople(10));
  assert.deepEqual(await readRows(t, table), [...before, ...before]);
});

test('integers that fit are converted; what does not fit is refused', async (t) => {
  const { engine, table } = await openTable(t, toItems(1));
  await append(engine, table, toTable({ id: [new Int64(), [5n]] }));
  assert.equal((await readRows(t, table)).at(-1)?.['id'], 5);
  const large = toTable({ id: [new Int64(), [2n ** 40n]] });
  const misfit = refusal('TableSchemaValidationError', /"id" \(int64 to int32\)/);
  await assert.rejects(append(engine, table, large), misfit);
  assert.equal((await readRows(t, table)).length, 2);
});

const MISFITS: Readonly<Record<string, readonly [rows: Table, words: RegExp]>> = {
  'a column that the table lacks': [toTable({ id: [new Int32(), [1]], extra: [new Int32(), [1]] }), /"extra"/],
  'a column in other letters': [toTable({ ID: [new Int32(), [1]] }), /"ID"/],
  'a vector of another length': [toTable({ id: [new Int32(), [1]], vec: [vectorType(3), [[1, 2, 3]]] }), /"vec".*3.*2/],
  'text for a number': [toTable({ id: [new Utf8(), ['1']] }), /"id".*utf8.*int32/],
  'fractions for integers': [toTable({ id: [new Float32(), [1.5]] }), /"id".*float32.*int32/],
  'a required column left out': [toTable({ vec: [vectorType(2), [[1, 2]]] }), /"id" is missing/],
};

for (const [name, [rows, words]] of Object.entries(MISFITS)) {
  test(`refuses ${name}, and names the column`, async (t) => {
    const fields = [new Field('id', new Int32(), false), new Field('vec', vectorType(2), true)];
    const columns = { id: vectorFromArray([1], new Int32()), vec: vectorFromArray([[1, 2]], vectorType(2)) };
    const { engine, table } = await openTable(t, new Table(new Schema(fields), columns));
    await assert.rejects(append(engine, table, rows), refusal('TableSchemaValidationError', words));
    assert.equal((await engine.describeTable(table)).version, 1);
  });
}

test('refuses null in a column that may not be null', async (t) => {
  const schema = new Schema([new Field('id', new Int32(), false)]);
  const { engine, table } = await openTable(t, new Table(schema, { id: vectorFromArray([1], new Int32()) }));
  const rows = toTable({ id: [new Int32(), [1, null]] });
  await assert.rejects(append(engine, table, rows), refusal('TableSchemaValidationError', /"id"/));
});
