import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Binary, Int64 } from 'apache-arrow';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Int32, Utf8, streamOf } from '../contract-tables.ts';
import { assertRefused, badRequest } from '../refusal.ts';

let server: ContractServer;
let table: MadeTable;
before(async () => {
  server = await ContractServer.start();
  table = await made();
});
after(async () => server.close());

const LEAST = -9_223_372_036_854_775_808n;

function rows(ids: readonly number[]): Uint8Array {
  return streamOf({
    id: { type: new Int32(), values: ids },
    text: { type: new Utf8(), values: ids.map(() => 'abc') },
    day: { type: new Utf8(), values: ids.map(() => '2024-01-31') },
    least: { type: new Int64(), values: ids.map(() => LEAST) },
    bytes: { type: new Binary(), values: ids.map(() => new Uint8Array([255])) },
  });
}

async function made(): Promise<MadeTable> {
  return server.table({ stream: rows([1, 2]) });
}

/** Valid SQL that these rows, or its own literals, make fail. */
const FAILING = [
  'to_date(text)',
  'to_timestamp(text)',
  'to_unixtime(text)',
  'abs(least)',
  'gcd(least, least)',
  'lcm(least, 3)',
  'least / (id - id - 1)',
  "regexp_like(text, '(')",
  "regexp_like(text, 'a', 'z')",
  "regexp_count(text, '(')",
  "regexp_instr(text, 'a', 0)",
  'CAST(least AS DECIMAL(3, 1))',
  "timestamp '300000-01-01'",
  'array_slice([id, id], 2, 1, -9223372036854775808)',
  'CAST(bytes AS STRING)',
  'arrow_cast(text, \'Timestamp(Second, Some("Mars"))\')',
  "arrow_cast(text, 'Interval(DayTime)')",
];

const NOT_COMPUTABLE = badRequest(/cannot be (?:computed for a value|converted to the required type)/);

for (const expression of FAILING) {
  test(`${expression} is refused as the caller's mistake wherever it is computed`, async () => {
    const { at } = await made();
    const post = async (operation: string, body: object) => server.admin.post(`${at}/${operation}`, body);
    const selected = { columns: { column_aliases: { x: expression } } };
    const condition = `(${expression}) IS NOT NULL`;
    const column = { name: 'added', expression };
    for (const answer of [
      await post('query', selected),
      await post('analyze_plan', selected),
      await post('query', { filter: condition }),
      await post('count_rows', { predicate: condition }),
      await post('delete', { predicate: condition }),
      await post('update', { updates: [['day', `CAST((${expression}) AS STRING)`]] }),
      await post('update', { updates: [['day', "'x'"]], predicate: condition }),
      await post('add_columns', { new_columns: [column] }),
    ]) {
      assertRefused(answer, NOT_COMPUTABLE);
    }
  });
}

test('a row that a computed column cannot be computed for is refused', async () => {
  const { at } = await made();
  const column = { name: 'date', computed: 'CAST(to_date(day) AS STRING)' };
  assert.equal((await server.admin.post(`${at}/add_columns`, { new_columns: [column] })).status, 200);
  await server.admin.post(`${at}/update`, { updates: [['id', 'id']] });
  assertRefused(await server.admin.post(`${at}/update`, { updates: [['day', "'x'"]] }), NOT_COMPUTABLE);
  const overflow = { name: 'size', computed: 'abs(least + id - 1)' };
  const other = await server.table({ stream: rows([2]) });
  assert.equal((await server.admin.post(`${other.at}/add_columns`, { new_columns: [overflow] })).status, 200);
  assertRefused(await server.admin.arrow(`${other.at}/insert`, rows([1])), NOT_COMPUTABLE);
});

test('TRY_CAST and a condition exclude the rows that cannot be computed', async () => {
  const query = async (body: object) => server.admin.post(`${table.at}/query`, body, { accept: 'application/json' });
  const { json } = await query({ columns: { column_aliases: { x: 'TRY_CAST(text AS DATE)' } } });
  assert.deepEqual(json.rows, [{ x: null }, { x: null }]);
  assert.equal((await query({ filter: 'TRY_CAST(text AS TIMESTAMP) IS NULL' })).json.rows.length, 2);
});

test('a type of SQL that the engine does not have is refused with those that it has', async () => {
  const filtered = async (type: string) =>
    server.admin.post(`${table.at}/query`, { filter: `CAST(id AS ${type}) IS NOT NULL` });
  for (const type of ['TEXT', 'VARCHAR(10)', 'CHAR', 'NUMERIC', 'REAL', 'DOUBLE PRECISION', 'BYTEA', 'BOOL', 'uuid']) {
    assertRefused(await filtered(type), badRequest(/character 12.*the type "[A-Z ]+" is not supported/));
  }
  assertRefused(
    await server.admin.post(`${table.at}/query`, { filter: "text::text = '1'" }),
    badRequest(/character 7.*Use STRING/),
  );
  for (const type of 'STRING INT BIGINT FLOAT DOUBLE DECIMAL(10,2) BOOLEAN DATE TIMESTAMP BINARY'.split(' ')) {
    assert.equal((await filtered(type)).status, 200, type);
  }
});

test('a decimal type that cannot be is refused', async () => {
  for (const type of [
    'DECIMAL',
    'DECIMAL(10)',
    'DECIMAL(39, 2)',
    'DECIMAL(0, 0)',
    'DECIMAL(10, 200)',
    'DECIMAL(10, -3)',
  ]) {
    for (const filter of [`CAST(id AS ${type}) = 1`, `id::${type} = 1`]) {
      assertRefused(
        await server.admin.post(`${table.at}/query`, { filter }),
        badRequest(/the decimal type is not valid.*precision from 1 to 38/),
      );
    }
  }
  for (const type of ['Decimal128(10, -100)', 'Decimal128(10, 11)', 'List(Decimal256(10, 11))']) {
    assertRefused(
      await server.admin.post(`${table.at}/query`, { filter: `arrow_cast(id, '${type}') = 1` }),
      badRequest(/the scale of the decimal type/),
    );
  }
});
