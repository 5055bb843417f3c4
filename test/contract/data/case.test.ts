import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable, PlainRow } from '../contract-server.ts';
import { Float64, Int32, Utf8, streamOf, vectorType } from '../contract-tables.ts';
import { assertRefused, badRequest } from '../refusal.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

const SIZE =
  "CASE WHEN amount = 0 THEN 'none' WHEN 12 / amount > 5 THEN 'few' WHEN amount > 3 THEN 'many' ELSE 'some' END";
const SIZES = ['none', 'few', 'few', 'some', 'many', 'some'];

async function made(): Promise<MadeTable> {
  const stream = streamOf({
    id: { type: new Int32(), values: [0, 1, 2, 3, 4, 5] },
    amount: { type: new Int32(), values: [0, 1, 2, 3, 4, null] },
    price: { type: new Float64(), values: [1, 2, 3, 4, 5, 6] },
    note: { type: new Utf8(), values: ['a', 'b', null, 'd', 'e', 'f'] },
    vec: { type: vectorType(2), values: [0, 1, 2, 3, 4, 5].map((id) => [id, 0]) },
  });
  return server.table({ stream });
}

async function post(table: MadeTable, operation: string, body: object): Promise<any> {
  const answer = await server.admin.post(`${table.at}/${operation}`, body, { accept: 'application/json' });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function columnOf(table: MadeTable, name: string): Promise<readonly unknown[]> {
  return (await server.rows(table)).map((row: PlainRow) => row[name]);
}

test('CASE filters and counts rows, and divides by no zero where it is not taken', async () => {
  const table = await made();
  const { rows } = await post(table, 'query', { filter: `${SIZE} = 'few'`, columns: { column_names: ['id'] } });
  assert.deepEqual(rows, [{ id: 1 }, { id: 2 }]);
  assert.equal(
    await post(table, 'count_rows', { predicate: 'CASE amount WHEN 3 THEN true WHEN NULL THEN true END' }),
    1,
  );
});

test('CASE is selected like any expression', async () => {
  const table = await made();
  const { rows } = await post(table, 'query', { columns: { column_aliases: { size: SIZE } } });
  assert.deepEqual(
    rows.map(({ size }: any) => size),
    SIZES,
  );
});

test('CASE sets columns in an update, also vectors, and keeps what ELSE names', async () => {
  const table = await made();
  await post(table, 'update', {
    updates: [
      ['price', 'CASE WHEN amount > 2 THEN price * 10 ELSE price END'],
      ['note', 'CASE id WHEN 0 THEN upper(note) WHEN 1 THEN NULL ELSE note END'],
      ['vec', 'CASE WHEN id = 1 THEN [7, 8] ELSE vec END'],
    ],
  });
  assert.deepEqual(await columnOf(table, 'price'), [1, 2, 3, 40, 50, 6]);
  assert.deepEqual(await columnOf(table, 'note'), ['A', null, null, 'd', 'e', 'f']);
  assert.deepEqual((await columnOf(table, 'vec')).slice(0, 3), [
    [0, 0],
    [7, 8],
    [2, 0],
  ]);
});

test('CASE chooses the rows of a delete and of a merge', async () => {
  const table = await made();
  await post(table, 'delete', { predicate: `${SIZE} IN ('many', 'none')` });
  assert.deepEqual(await columnOf(table, 'id'), [1, 2, 3, 5]);
  const rows = streamOf({
    id: { type: new Int32(), values: [1, 2, 3] },
    amount: { type: new Int32(), values: [9, 9, 9] },
    price: { type: new Float64(), values: [0, 0, 0] },
    note: { type: new Utf8(), values: ['x', 'x', 'x'] },
    vec: { type: vectorType(2), values: [1, 2, 3].map(() => [9, 9]) },
  });
  const query = new URLSearchParams({
    on: 'id',
    when_matched_update_all: 'true',
    when_matched_update_all_filt: 'CASE WHEN target.amount = 2 THEN false ELSE source.price < 1 END',
  });
  const answer = await server.admin.arrow(`${table.at}/merge_insert?${query.toString()}`, rows);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(await columnOf(table, 'amount'), [9, 2, 9, null]);
});

test('CASE defines new and computed columns, which follow later rows and updates', async () => {
  const table = await made();
  await post(table, 'add_columns', { new_columns: [{ name: 'size', expression: SIZE }] });
  assert.deepEqual(await columnOf(table, 'size'), SIZES);
  const other = await made();
  await post(other, 'add_columns', { new_columns: [{ name: 'size', computed: SIZE }] });
  await post(other, 'update', { updates: [['amount', '2']], predicate: 'id = 5' });
  const rows = streamOf({
    id: { type: new Int32(), values: [6] },
    amount: { type: new Int32(), values: [0] },
    price: { type: new Float64(), values: [0] },
    note: { type: new Utf8(), values: ['x'] },
    vec: { type: vectorType(2), values: [[1, 1]] },
  });
  assert.equal((await server.admin.arrow(`${other.at}/insert`, rows)).status, 200);
  const sizes = await columnOf(other, 'size');
  assert.deepEqual([sizes[5], sizes[6]], ['few', 'none']);
});

test('a CASE that is not complete, or whose condition is none, is refused with its place', async () => {
  const { at } = await made();
  const refused = async (filter: string) => server.admin.post(`${at}/query`, { filter });
  assertRefused(await refused('CASE WHEN id = 1 THEN true'), badRequest(/character 1.*CASE has no END/));
  assertRefused(
    await refused('id = 1 AND CASE WHEN id = 1 ELSE true END'),
    badRequest(/character 29.*ELSE cannot follow/),
  );
  assertRefused(await refused('CASE WHEN id = 1 THEN 2 3 ELSE 4 END = 2'), badRequest(/character 25/));
  assertRefused(await refused('CASE WHEN id THEN true ELSE false END'), badRequest());
});
