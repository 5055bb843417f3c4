import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import {
  Float32,
  Int32,
  List,
  Uint8,
  Utf8,
  count,
  optional,
  streamOf,
  vectorType,
} from '../../contract/contract-tables.ts';
import { noBrowser } from '../../support/browser.ts';
import type { Browser } from '../../support/browser.ts';
import { Client } from '../../support/client.ts';
import { openConsole } from '../../support/console-page.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

const TABLE = '/v1/table/types';
const ROWS = count(300);
const spread = (row: number, length: number): readonly number[] =>
  count(length).map((at) => ((row * 7919 + at) % 97) + 1);
const listOf = (type: object) => ({ type: 'list', fields: [{ name: 'item', type, nullable: true }] });

/** Values are needed only for vectors, which an index is trained with. */
const VECTORS = streamOf({
  id: { type: new Int32(), values: ROWS },
  word: { type: new Utf8(), values: ROWS.map((row) => `word ${row}`) },
  vec: { type: vectorType(16), values: ROWS.map((row) => spread(row, 16)) },
  odd: { type: vectorType(3), values: ROWS.map((row) => spread(row, 3)) },
  bits: { type: vectorType(8, new Uint8()), values: ROWS.map((row) => spread(row, 8)) },
  several: {
    type: new List(optional('item', vectorType(8, new Float32()))),
    values: ROWS.map((row) => [spread(row, 8), spread(row + 1, 8)]),
  },
});

const TYPES = {
  small: 'uint8',
  half: 'float16',
  price: 'float64',
  amount: 'decimal128(10, 2)',
  large: 'large_utf8',
  flag: 'bool',
  day: 'date32',
  time: 'time32:s',
  at: 'timestamp:us:UTC',
  wait: 'duration:s',
  bytes: 'binary',
  uuid: { type: 'fixed_size_binary', length: 16 },
  labels: listOf({ type: 'utf8' }),
  numbers: listOf({ type: 'int32' }),
  floats: listOf({ type: 'float32' }),
  days: listOf({ type: 'date32' }),
};

const IVF = ['IVF_PQ', 'IVF_FLAT', 'IVF_HNSW_SQ', 'IVF_HNSW_PQ'];

const OFFERED: Readonly<Record<string, readonly string[]>> = {
  id: ['BTREE', 'BITMAP'],
  word: ['FTS', 'BTREE', 'BITMAP'],
  vec: [...IVF, 'IVF_RQ'],
  odd: IVF,
  bits: ['IVF_FLAT'],
  several: ['IVF_PQ'],
  small: ['BTREE', 'BITMAP'],
  half: ['BTREE'],
  price: ['BTREE'],
  amount: [],
  large: ['FTS', 'BITMAP'],
  flag: ['BTREE', 'BITMAP'],
  day: ['BTREE'],
  time: ['BTREE'],
  at: ['BTREE'],
  wait: [],
  bytes: ['BITMAP'],
  uuid: ['BTREE'],
  labels: ['FTS', 'LABEL_LIST'],
  numbers: ['LABEL_LIST'],
  floats: [],
  days: [],
};

let server: TestServer;
let client: Client;
let browser: Browser;
let page: Page;

suite('building an index', { skip: noBrowser }, () => {
  before(async () => {
    server = await startServer({ flags: ['--maintenance-running-max=0', '--index-tuning-seconds=0'] });
    client = new Client(server.url);
    assert.equal((await client.arrow(`${TABLE}/create`, VECTORS)).status, 200);
    const columns = Object.entries(TYPES).map(([name, type]) => ({ name, data_type: type }));
    const added = await client.post(`${TABLE}/add_columns`, { new_columns: columns });
    assert.equal(added.status, 200, added.text);
    browser = await openConsole();
    ({ page } = browser);
    await page.goto(`${server.url}/ui/#/table/types?tab=indexes`);
    await page.getByRole('button', { name: 'Build an index' }).click();
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  const readOptions = async (label: string): Promise<readonly string[]> =>
    page
      .getByLabel(label)
      .locator('option')
      .evaluateAll((options) => options.map((option) => (option as unknown as { value: string }).value));

  test('offers for each column the types that can be built', async () => {
    assert.deepEqual(await readOptions('Column'), Object.keys(OFFERED));
    const offered: Record<string, readonly string[]> = {};
    for (const column of Object.keys(OFFERED)) {
      await page.getByLabel('Column').selectOption(column);
      offered[column] = (await readOptions('Type')).filter((type) => type !== '');
    }
    assert.deepEqual(offered, OFFERED);
    for (const [column, types] of Object.entries(OFFERED)) {
      for (const type of types) {
        const { status, text } = await client.post(`${TABLE}/create_index`, { column, index_type: type });
        assert.equal(status, 200, `${column} ${type} ${text}`);
      }
    }
  });

  test('says why a column has none', async () => {
    const build = page.getByRole('button', { name: 'Build', exact: true });
    await page.getByLabel('Column').selectOption('amount');
    await page.getByText('Columns of the type decimal128(10, 2) cannot be indexed.').waitFor();
    assert.equal(await build.isDisabled(), true);
    await page.getByLabel('Column').selectOption('price');
    await page.getByText('cannot be indexed').waitFor({ state: 'detached' });
    assert.equal(await build.isDisabled(), false);
  });
});
