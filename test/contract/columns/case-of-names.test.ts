import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { TimestampMillisecond } from 'apache-arrow';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Int32, Struct, optional, streamOf } from '../contract-tables.ts';
import { assertRefused, badRequest, columnNotFound } from '../refusal.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

const stream = (): Uint8Array => {
  const column = (...values: readonly number[]) => ({ type: new Int32(), values });
  return streamOf({ Id: column(1, 2), iD: column(2, 1), Other: column(5, 6) });
};

type Send = (table: MadeTable, condition: string) => Promise<Answer>;

const post =
  (operation: string, toBody: (condition: string) => object): Send =>
  async ({ at }, condition) =>
    server.admin.post(`${at}/${operation}`, toBody(condition), { accept: 'application/json' });

const merge =
  (parameter: string): Send =>
  async ({ at }, condition) => {
    const query = { on: 'Other', when_matched_update_all: 'true', when_not_matched_by_source_delete: 'true' };
    const filter = parameter === 'when_matched_update_all_filt' ? `target.${condition}` : condition;
    return server.admin.arrow(
      `${at}/merge_insert?${new URLSearchParams({ ...query, [parameter]: filter }).toString()}`,
      stream(),
    );
  };

const ways: Readonly<Record<string, Send>> = {
  'the filter of a query': post('query', (filter) => ({ k: 9, filter })),
  'a column of a query': post('query', (x) => ({ k: 9, columns: { column_aliases: { x } } })),
  'the filter of an analysis': async ({ at }, filter) => server.admin.post(`${at}/analyze_plan`, { k: 9, filter }),
  'a count': post('count_rows', (predicate) => ({ predicate })),
  'a delete': post('delete', (predicate) => ({ predicate })),
  'the predicate of an update': post('update', (predicate) => ({ updates: [['Other', '1']], predicate })),
  'the expression of an update': post('update', (expression) => ({
    updates: [['Other', `CASE WHEN ${expression} THEN 1 ELSE 2 END`]],
  })),
  'the expression of an update that reads a column that it sets': post('update', (expression) => ({
    updates: [
      ['Other', `CASE WHEN ${expression} THEN 1 ELSE 2 END`],
      ['iD', '3'],
    ],
  })),
  'the expression of a new column': post('add_columns', (expression) => ({ new_columns: [{ name: 'n', expression }] })),
  'the definition of a new computed column': post('add_columns', (text) => ({
    new_columns: [{ name: 'n', computed: text }],
  })),
  'the update filter of a merge': merge('when_matched_update_all_filt'),
  'the delete filter of a merge': merge('when_not_matched_by_source_delete_filt'),
};

for (const [what, send] of Object.entries(ways)) {
  test(`a name that several columns have in another case is refused with all of them, and changes nothing: ${what}`, async () => {
    const table = await server.table({ stream: stream() });
    const refused = badRequest(/The name "ID" matches several columns: "Id", "iD"/);
    assertRefused(await send(table, 'ID = 1'), refused);
    assert.equal(await (await server.embedded(table)).version(), table.version);
  });

  test(`a name as its column is written is that column: ${what}`, async () => {
    const table = await server.table({ stream: stream() });
    for (const condition of ['iD = 1', '`iD` = 1']) {
      if (what.includes('merge') && condition.startsWith('`')) continue;
      if (what.includes('of a new') && condition.startsWith('`')) continue;
      const answer = await send(table, condition);
      assert.equal(answer.status, 200, answer.text);
    }
  });
}

test('a bare name in another case finds the only column that it can mean; in backticks it does not', async () => {
  const table = await server.table({ stream: stream() });
  const count = async (predicate: string) => server.admin.post(`${table.at}/count_rows`, { predicate });
  assert.equal((await count('OTHER = 5')).json, 1);
  assertRefused(await count('`OTHER` = 5'), columnNotFound);
  assertRefused(await count('`ID` = 1'), columnNotFound);
});

test('paths of fields are case-sensitive', async () => {
  const table = await server.table({ stream: stream() });
  const send = async (operation: string, body: object) => server.admin.post(`${table.at}/${operation}`, body);
  assertRefused(await send('update', { updates: [['other', '1']] }), columnNotFound);
  assertRefused(await send('query', { k: 1, columns: { column_names: ['other'] } }), columnNotFound);
  assertRefused(await send('drop_columns', { columns: ['other'] }), columnNotFound);
  assertRefused(await send('create_index', { column: 'other', index_type: 'BTREE' }), columnNotFound);
});

/** Columns whose names are words of SQL in another case. */
const WORDS = ['Day', 'Date', 'Int', 'Null', 'True', 'And', 'Abs', 'From', 'Interval', 'Zone', 'Is', 'Now', 'Array'];

const mixed = (): Uint8Array => {
  const column = (...values: readonly number[]) => ({ type: new Int32(), values });
  const words = WORDS.map((word) => [word, column(1, 2)] as const);
  const moment = { type: new TimestampMillisecond(), values: [0, 86_400_000] };
  const point = { type: new Struct([optional('X', new Int32())]), values: [{ X: 1 }, { X: 2 }] };
  return streamOf({ id: column(1, 2), a: column(-1, 1), moment, point, ...Object.fromEntries(words) });
};

test('a bare name in another case is found in calls and arithmetic as in comparisons', async () => {
  const table = await server.table({ stream: mixed() });
  const { at } = table;
  const send = async (operation: string, body: object) => {
    const answer = await server.admin.post(`${at}/${operation}`, body, { accept: 'application/json' });
    assert.equal(answer.status, 200, `${JSON.stringify(body)}: ${answer.text}`);
    return answer.json;
  };
  const { rows } = await send('query', { filter: 'abs(A) > 0', columns: { column_aliases: { x: 'coalesce(A, 1)' } } });
  assert.deepEqual(rows, [{ x: -1 }, { x: 1 }]);
  assert.equal(await send('count_rows', { predicate: 'A + ID = 3 AND POINT.X = 2' }), 1);
  await send('add_columns', { new_columns: [{ name: 'double', computed: 'A * 2' }] });
  await send('add_columns', { new_columns: [{ name: 'sum', expression: 'A + ID' }] });
  await send('update', { updates: [['a', 'A + 10']], predicate: 'abs(ID) = 2' });
  await send('update', {
    updates: [
      ['a', 'ID + 0'],
      ['id', 'A + 0'],
    ],
    predicate: 'abs(ID) = 1',
  });
  assert.equal((await server.admin.arrow(`${at}/insert`, mixed())).status, 200);
  await send('update', { updates: [['sum', 'DOUBLE + 0']], predicate: 'DOUBLE = 22' });
  await send('delete', { predicate: 'abs(A) = 1 AND abs(ID) = 1 AND DOUBLE IS NOT NULL AND sum IS NULL' });
  const found = (await server.rows(table)).map(({ id, a, double, sum }) => [id, a, double, sum]);
  found.sort(([, one], [, other]) => Number(one) - Number(other));
  assert.deepEqual(found, [
    [-1, 1, 2, 0],
    [2, 1, 2, null],
    [2, 11, 22, 22],
  ]);
});

test('words of SQL are never taken for columns that are called like them in another case', async () => {
  const { at } = await server.table({ stream: mixed() });
  const count = async (predicate: string) => server.admin.post(`${at}/count_rows`, { predicate });
  for (const [predicate, rows] of [
    ["moment = date '1970-01-02' AND abs(A) = 1", 1],
    ["date_part('DAY', MOMENT) = DAY", 2],
    ['CAST(A AS int) = 1 AND A::INT = int - 1', 1],
    ['A IS NOT null AND (A > 0) = TRUE AND abs(ABS) > 1', 1],
    ['abs(A) IN (1, NULL) AND A NOT IN (5) OR NOT A BETWEEN 5 AND 6', 2],
    ['make_array(A, 1)[1] = abs(A) and DATE = 2', 1],
  ] as const) {
    const answer = await count(predicate);
    assert.deepEqual([answer.status, answer.json], [200, rows], `${predicate}: ${answer.text}`);
  }
});
