import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Bool, Field } from 'apache-arrow';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Int32, Struct, Utf8, streamOf } from '../contract-tables.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

const STRUCT = new Struct([new Field('flag', new Bool(), true)]);

/** Every combination of an indexed text and flag, nulls included. */
const ROWS = ['hello', 'world', null, 'a\u0000b', 'hell', ''].flatMap((text) =>
  [true, false, null].map((flag) => ({ text, flag, group: flag === null ? null : { flag } })),
);

async function made(indexes: readonly object[]): Promise<MadeTable> {
  const table = await server.table({
    stream: streamOf({
      id: { type: new Int32(), values: ROWS.map((_, id) => id) },
      text: { type: new Utf8(), values: ROWS.map(({ text }) => text) },
      flag: { type: new Bool(), values: ROWS.map(({ flag }) => flag) },
      sure: { type: new Bool(), values: ROWS.map((_, id) => id % 2 === 0), nullable: false },
      group: { type: STRUCT, values: ROWS.map(({ group }) => group) },
      amount: { type: new Int32(), values: ROWS.map((_, id) => id % 4) },
    }),
  });
  for (const index of indexes) {
    const answer = await server.admin.post(`${table.at}/create_index`, index);
    assert.equal(answer.status, 200, answer.text);
  }
  return table;
}

const BITMAPS = ['flag', 'sure', 'group.flag'].map((column) => ({ column, index_type: 'BITMAP' }));
const BTREES = ['flag', 'sure', 'group.flag', 'amount'].map((column) => ({ column, index_type: 'BTREE' }));
const FM = { column: 'text', index_type: 'FM' };

const SUBSTRINGS = [
  "contains(text, 'hell')",
  "contains(text, '')",
  "contains(text, 'a\u0000b')",
  '`contains`(text, text)',
];
const TESTS = ['flag', 'sure', 'group.flag', 'flag = sure'].flatMap((flag) => [`${flag} IS TRUE`, `${flag} is false`]);

const CONDITIONS = [...SUBSTRINGS, ...TESTS].flatMap((condition) => [
  condition,
  `NOT ${condition}`,
  `NOT (${condition})`,
  `(${condition}) = false`,
  `false = (${condition})`,
  `((${condition})) <> true`,
  `(${condition}) IS FALSE`,
  `(${condition}) IS NOT TRUE`,
  `NOT (${condition}) OR amount = 3`,
  `NOT (${condition} AND amount > 0)`,
  `(amount = 3 OR ${condition}) = false`,
  `(${condition}) IN (false)`,
  `true BETWEEN false AND (${condition})`,
  `coalesce(${condition}, flag)`,
  `coalesce(NOT (${condition}), true)`,
  `amount BETWEEN 1 AND 2 AND (${condition})`,
  `amount NOT IN (1) AND ${condition}`,
  `CASE WHEN ${condition} THEN flag ELSE true END`,
]);

async function post(table: MadeTable, operation: string, body: object): Promise<any> {
  const answer = await server.admin.post(`${table.at}/${operation}`, body, { accept: 'application/json' });
  assert.equal(answer.status, 200, `${JSON.stringify(body)}: ${answer.text}`);
  return answer.json;
}

async function matched(table: MadeTable, filter: string): Promise<readonly number[]> {
  const { rows } = await post(table, 'query', { filter, columns: { column_names: ['id'] } });
  return rows.map(({ id }: any) => id).toSorted((one: number, other: number) => one - other);
}

test('a condition selects and counts the same rows with an FM, BITMAP or BTREE index as without one', async () => {
  const plain = await made([]);
  const indexed = [await made([FM, ...BITMAPS]), await made([FM, ...BTREES])];
  for (const condition of CONDITIONS) {
    const expected = await matched(plain, condition);
    for (const table of indexed) {
      assert.deepEqual(await matched(table, condition), expected, condition);
      assert.equal(await post(table, 'count_rows', { predicate: condition }), expected.length, condition);
    }
  }
});

test('a negated condition updates and deletes no row whose value is null', async () => {
  const table = await made([FM, ...BITMAPS]);
  await post(table, 'update', { updates: [['amount', '9']], predicate: "NOT contains(text, 'hell')" });
  await post(table, 'update', { updates: [['amount', '8']], predicate: 'NOT (flag IS FALSE) AND id < 3' });
  const amounts = (await server.rows(table)).map(({ amount }) => amount);
  assert.deepEqual(amounts, [8, 1, 8, 9, 9, 9, 2, 3, 0, 9, 9, 9, 0, 1, 2, 9, 9, 9]);
  await post(table, 'delete', { predicate: "NOT contains(text, '')" });
  assert.equal((await server.rows(table)).length, ROWS.length);
  await post(table, 'delete', { predicate: 'NOT (flag IS TRUE)' });
  assert.deepEqual(await matched(table, 'true'), [0, 3, 6, 9, 12, 15]);
});

test('contains() and IS TRUE are answered from an index where nothing negates them', async () => {
  const table = await made([FM, ...BITMAPS]);
  for (const filter of [
    "contains(text, 'hello')",
    "contains(text, 'x') AND amount NOT IN (1)",
    "amount IS NOT NULL AND (contains(text, 'x') OR contains(text, 'y'))",
    "amount BETWEEN 1 AND 2 AND contains(text, 'x')",
    'flag IS TRUE',
    'amount NOT BETWEEN 1 AND 2 AND (flag IS FALSE)',
  ]) {
    assert.match(await post(table, 'explain_plan', { query: { filter } }), /ScalarIndexQuery/, filter);
  }
});
