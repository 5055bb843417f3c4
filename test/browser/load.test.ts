import assert from 'node:assert/strict';
import test, { after, before, suite } from 'node:test';
import { Field, Schema } from 'apache-arrow';
import type { Page } from 'playwright-core';
import { toStreamBytes } from '../../src/formats/arrow/arrow-stream.ts';
import { makeBatch } from '../../src/formats/row-batches.ts';
import { buildData } from '../../src/formats/types/build-data.ts';
import { parseType } from '../../src/formats/types/type-text.ts';
import { writeRows } from '../../src/formats/write-rows.ts';
import { toStream } from '../support/arrow-tables.ts';
import { noBrowser, openBrowser } from '../support/browser.ts';
import type { Browser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { PRODUCTS, signIn, signOut, takePicture } from '../support/console.ts';
import { becomes, holdNext, loseReply } from '../support/page-state.ts';
import { startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

let server: TestServer;
let browser: Browser;
let page: Page;
let client: Client;

const CITIES = ['Bonn', 'Köln', 'Lyon', 'Porto', 'Gdańsk', 'Uppsala'];
const visit = (row: number): string =>
  [
    row,
    CITIES[row % CITIES.length],
    `2024-0${1 + (row % 9)}-${10 + (row % 18)}T0${row % 10}:15:00Z`,
    (row * 37) % 300,
    row % 11 === 0 ? '' : (row % 50) / 10,
    row % 3 === 0 ? '"came back later, with friends"' : 'a quiet visit',
  ].join(',');
const VISITS = [
  'visit_id,city,arrived,minutes,rating,comment',
  ...Array.from({ length: 3000 }, (_unused, row) => visit(row)),
].join('\n');

before(async () => {
  if (noBrowser !== false) return;
  server = await startServer();
  client = new Client(server.url);
  await client.post('/v1/namespace/shop/create', {});
  browser = await openBrowser();
  ({ page } = browser);
  await signIn(page, server.url);
});

after(async () => {
  await browser?.close();
  await server?.close();
});

async function choose(name: string, contents: string | Uint8Array): Promise<void> {
  await page.goto(`${server.url}/ui/#/load/shop`);
  await page.reload();
  const file = { name, mimeType: '', buffer: Buffer.from(contents) };
  await page.getByLabel('File to load').setInputFiles(file);
  await page.getByRole('grid', { name: 'First rows' }).waitFor();
}

test('a CSV file is loaded with names and types of one’s choice', { skip: noBrowser }, async () => {
  await page.goto(`${server.url}/ui/#/load/shop`);
  await page.getByRole('heading', { name: 'Drop a file here' }).waitFor();
  await choose('visits.csv', VISITS);
  await becomes(async () => page.getByLabel('Type of arrived').inputValue(), 'timestamp[us, UTC]');
  await becomes(async () => page.getByLabel('Type of rating').inputValue(), 'float64');
  await page.getByLabel('Name of visit_id').fill('id');
  await page.getByLabel('Type of minutes').fill('int32');
  await page.getByLabel('Type of minutes').press('Tab');
  await page.getByLabel('Load comment').uncheck();
  await page
    .getByRole('columnheader', { name: /minutes/ })
    .getByText('int32')
    .waitFor();
  await takePicture(page, 'load');
  await page.getByRole('button', { name: 'Load', exact: true }).click();
  await page.getByRole('heading', { name: /^Imported 3,000 rows .* into shop \/ visits in/ }).waitFor();
  await page.getByRole('link', { name: 'Open the table' }).click();
  await page.getByText('1–100 of 3,000').waitFor();
  const { json } = await client.post('/v1/table/shop$visits/describe', {});
  const fields = json.schema.fields.map((field: any) => `${field.name} ${field.type.type}`);
  assert.deepEqual(fields, ['id int64', 'city utf8', 'arrived timestamp:us:UTC', 'minutes int32', 'rating float64']);
});

test(
  'a value that does not fit its type is told with its line, and nothing is loaded',
  { skip: noBrowser },
  async () => {
    await choose('faults.csv', 'id,n\n1,2\n2,x\n');
    await page.getByLabel('Type of n').fill('int64');
    await page.getByLabel('Type of n').press('Tab');
    await becomes(async () => page.getByRole('alert').first().innerText(), /Line 3.*"n"/s);
  },
);

test('a taken name is refused, and the same rows can be appended', { skip: noBrowser }, async () => {
  const lines = Array.from({ length: 20 }, (_unused, row) => JSON.stringify({ id: row, name: `n${row}` })).join('\n');
  await choose('notes.ndjson', lines);
  await page.getByRole('button', { name: 'Load', exact: true }).click();
  await page.getByRole('heading', { name: /^Imported 20 rows .* into shop \/ notes in/ }).waitFor();
  await choose('notes.ndjson', lines);
  await page.getByRole('button', { name: 'Load', exact: true }).click();
  assert.match(await page.getByRole('alert').innerText(), /exists/);
  await page.getByText('Append', { exact: true }).click();
  await page.getByRole('button', { name: 'Load', exact: true }).click();
  await page.getByText('The table is now at version 2').waitFor();
  assert.equal((await client.post('/v1/table/shop$notes/count_rows', {})).json, 40);
});

test('a file that is loaded again after its reply was lost is added once', { skip: noBrowser }, async () => {
  const count = async (): Promise<unknown> => (await client.post('/v1/table/shop$twice/count_rows', {})).json;
  const load = page.getByRole('button', { name: 'Load', exact: true });
  await choose('twice.csv', 'id\n1\n2\n');
  await load.click();
  await page.getByRole('heading', { name: /^Imported 2 rows/ }).waitFor();
  await choose('twice.csv', 'id\n1\n2\n');
  await page.getByText('Append', { exact: true }).click();
  await loseReply(page, '/insert');
  await load.click();
  await page.getByRole('alert').getByText('did not respond').waitFor();
  await becomes(count, 4);
  await load.click();
  await page.getByText('The table is now at version 2').waitFor();
  assert.equal(await count(), 4);
  await page.getByRole('button', { name: 'Load another file' }).click();
  await page
    .getByLabel('File to load')
    .setInputFiles({ name: 'twice.csv', mimeType: '', buffer: Buffer.from('id\n1\n2\n') });
  await page.getByText('Append', { exact: true }).click();
  await load.click();
  await page.getByText('The table is now at version 3').waitFor();
  assert.equal(await count(), 6);
});

suite('a load while other views are shown', { skip: noBrowser }, () => {
  const link = (name: string) => page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name });
  const toast = (text: string) => page.locator('.toast').filter({ hasText: text });
  /** Until the request is let go. */
  const begin = async (name: string, contents: string): Promise<() => void> => {
    await choose(name, contents);
    const { reached, letGo } = holdNext(page, '**/create*');
    await page.getByRole('button', { name: 'Load', exact: true }).click();
    await reached;
    return letGo;
  };

  test('shows its progress on return, and how it ended', async () => {
    const letGo = await begin('away.csv', 'id\n1\n2\n');
    await link('Tables').click();
    await page.getByRole('tree').waitFor();
    await link('Load data').click();
    await page.getByText('away.csv').waitFor();
    await page.getByRole('status').filter({ hasText: '2 rows' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Another file' }).count(), 0);
    assert.equal(await page.getByLabel('Namespace').inputValue(), 'shop');
    await link('Lab').click();
    letGo();
    await toast('Imported 2 rows into shop / away.').waitFor();
    await link('Load data').click();
    await page.getByRole('heading', { name: /^Imported 2 rows .* into shop \/ away in/ }).waitFor();
    // Its end was seen.
    await link('Tables').click();
    await page.getByRole('tree').waitFor();
    await link('Load data').click();
    await page.getByRole('heading', { name: 'Drop a file here' }).waitFor();
  });

  test('that fails says so, and is not loaded twice when it is sent again', async () => {
    await choose('lost.csv', 'id\n1\n');
    await page.getByRole('button', { name: 'Load', exact: true }).click();
    await page.getByRole('heading', { name: /^Imported 1 row / }).waitFor();
    await choose('lost.csv', 'id\n1\n');
    await page.getByText('Append', { exact: true }).click();
    await loseReply(page, '/insert');
    const { reached, letGo } = holdNext(page, '**/insert*');
    await page.getByRole('button', { name: 'Load', exact: true }).click();
    await reached;
    await link('Tables').click();
    await page.getByRole('tree').waitFor();
    letGo();
    await toast('Loading lost.csv failed. The server').waitFor();
    const count = async (): Promise<unknown> => (await client.post('/v1/table/shop$lost/count_rows', {})).json;
    await becomes(count, 2);
    await link('Load data').click();
    await page.getByRole('alert').getByText('did not respond').waitFor();
    await page.getByRole('button', { name: 'Load', exact: true }).click();
    await page.getByText('The table is now at version 2').waitFor();
    assert.equal(await count(), 2);
  });

  test('is stopped there, too', async () => {
    const letGo = await begin('stopped.csv', 'id\n1\n');
    await link('Tables').click();
    await link('Load data').click();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('alert').waitFor();
    letGo();
    await page.getByRole('button', { name: 'Another file' }).click();
    await page.getByRole('heading', { name: 'Drop a file here' }).waitFor();
  });

  test('is stopped when the user signs out', async () => {
    const letGo = await begin('gone.csv', 'id\n1\n');
    const failed = page.waitForEvent('requestfailed');
    await signOut(page);
    await failed;
    letGo();
    await signIn(page, server.url);
    await link('Load data').click();
    await page.getByRole('heading', { name: 'Drop a file here' }).waitFor();
  });

  test('keeps the tab open until the user has agreed', async () => {
    const letGo = await begin('kept.csv', 'id\n1\n');
    const asked = page.waitForEvent('dialog');
    await page.close({ runBeforeUnload: true });
    const dialog = await asked;
    assert.equal(dialog.type(), 'beforeunload');
    await dialog.dismiss();
    letGo();
    await page.getByRole('heading', { name: /^Imported 1 row / }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Drop a file here' }).waitFor();
  });
});

test('names that begin or end with a space are kept, also when a table is renamed', { skip: noBrowser }, async () => {
  await client.post('/v1/namespace/shop%20/create', {});
  for (const path of ['shop$spaced', 'shop%20$spaced', 'shop%20$spaced%20'])
    await client.arrow(`/v1/table/${path}/create`, toStream(PRODUCTS, 5));
  const count = async (path: string): Promise<unknown> => (await client.post(`/v1/table/${path}/count_rows`, {})).json;
  await page.goto(`${server.url}/ui/#/load/shop%20?table=spaced%20`);
  await page.reload();
  await page
    .getByLabel('File to load')
    .setInputFiles({ name: 'goods.arrow', mimeType: '', buffer: Buffer.from(toStream(PRODUCTS, 2)) });
  await page.getByRole('button', { name: 'Load', exact: true }).click();
  await page.getByText('The table is now at version 2').waitFor();
  const counts = async () => Promise.all(['shop$spaced', 'shop%20$spaced', 'shop%20$spaced%20'].map(count));
  assert.deepEqual(await counts(), [5, 5, 7]);
  await page.goto(`${server.url}/ui/#/table/shop%20/spaced%20`);
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Rename or move' }).click();
  await page.getByRole('dialog').getByLabel('Namespace').fill('shop');
  await page.getByRole('button', { name: 'Rename', exact: true }).click();
  await page.locator('.toast').filter({ hasText: 'The table is now' }).waitFor();
  assert.equal(await count('shop$spaced%20'), 7);
});

test('a file is dropped on the page, and read', { skip: noBrowser }, async () => {
  await page.goto(`${server.url}/ui/#/load/shop`);
  await page.reload();
  const zone = page.locator('.drop-zone');
  await zone.waitFor();
  const dropped = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(['id,word\\n1,amber\\n2,basalt\\n'], 'dropped.csv', { type: 'text/csv' }));
    return transfer;
  })()`);
  await zone.dispatchEvent('dragover', { dataTransfer: dropped });
  await page.locator('.drop-zone.over').waitFor();
  await zone.dispatchEvent('drop', { dataTransfer: dropped });
  await page.getByRole('grid', { name: 'First rows' }).getByText('basalt').waitFor();
  await page.getByRole('button', { name: 'Load', exact: true }).click();
  await page.getByRole('heading', { name: /^Imported 2 rows .* into shop \/ dropped in/ }).waitFor();
});

async function embeddingsFile(): Promise<Uint8Array> {
  const schema = new Schema([
    new Field('id', parseType('int64'), true),
    new Field('embedding', parseType('list<float32>'), true),
  ]);
  const rows = Array.from({ length: 300 }, (_unused, row) => row);
  const children = [
    buildData(parseType('int64'), rows),
    buildData(
      parseType('list<float32>'),
      rows.map((row) => Array.from({ length: 16 }, (_unused, at) => ((row * 7 + at * 3) % 11) / 11)),
    ),
  ];
  const pieces: Uint8Array[] = [];
  for await (const piece of writeRows('parquet', schema, [makeBatch(schema, children, rows.length)]))
    pieces.push(piece);
  return Buffer.concat(pieces);
}

test(
  'a Parquet file shows what its columns will be and why, and its vectors get an index',
  { skip: noBrowser },
  async () => {
    await choose('embeddings.parquet', await embeddingsFile());
    await becomes(async () => page.getByLabel('Type of embedding').inputValue(), 'float32[16]');
    await page.getByText('Found: list<float32> in the file; the first 300 lists have 16 values.').waitFor();
    await page.getByText('Sends 300 rows of 2 columns, 1 vector among them.').waitFor();
    const vectors = page.getByRole('switch', { name: 'embedding as vectors' });
    await vectors.uncheck();
    await becomes(async () => page.getByLabel('Type of embedding').inputValue(), 'list<float32>');
    await vectors.check();
    await page.setViewportSize({ width: 390, height: 844 });
    const overflow = 'document.querySelector(".load").scrollWidth - document.querySelector(".load").clientWidth';
    await becomes(async () => page.evaluate<number>(overflow), 0);
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.getByRole('button', { name: 'Load', exact: true }).click();
    await page.getByRole('heading', { name: /^Imported 300 rows .* into shop \/ embeddings in/ }).waitFor();
    await page.getByRole('button', { name: 'Build an index on embedding' }).click();
    await page.getByRole('paragraph').filter({ hasText: 'embedding has an index.' }).waitFor();
    assert.equal(await page.getByText('compare every row until it has an index').count(), 0);
    const { json } = await client.post('/v1/table/shop$embeddings/index/list', {});
    assert.deepEqual(json.indexes[0].columns, ['embedding']);
  },
);

test('lists that were loaded as lists become vectors with one click', { skip: noBrowser }, async () => {
  await choose('lists.parquet', await embeddingsFile());
  await page.getByRole('switch', { name: 'embedding as vectors' }).uncheck();
  await page.getByRole('button', { name: 'Load', exact: true }).click();
  await page.getByRole('link', { name: 'Open the table' }).click();
  await page.goto(`${server.url}/ui/#/table/shop/lists?tab=schema`);
  await page.getByRole('button', { name: 'Make vectors' }).click();
  await page.getByText(/embedding now holds vectors of 16 values/).waitFor();
  await page.getByRole('table', { name: 'Fields' }).getByText('float32[16]').waitFor();
});

test('UUIDs are appended to a column of 16 bytes', { skip: noBrowser }, async () => {
  const metadata = new Map([['ARROW:extension:name', 'arrow.uuid']]);
  const schema = new Schema([new Field('key', parseType('binary[16]'), true, metadata)]);
  await client.arrow('/v1/table/shop$keys/create', toStreamBytes(schema, []));
  const row = '{"key":"00112233-4455-6677-8899-aabbccddeeff"}\n';
  await choose('keys.ndjson', row);
  await page.getByLabel('Type of key').fill('binary[16]');
  await page.getByLabel('Type of key').press('Tab');
  await page.getByText('Append', { exact: true }).click();
  await page.getByRole('button', { name: 'Load', exact: true }).click();
  await page.getByText('The table is now at version 2').waitFor();
  const { text } = await client.post('/v1/table/shop$keys/query', { k: 2 }, { accept: 'application/x-ndjson' });
  assert.equal(text, row);
});

test('an Arrow stream is loaded as it is, vectors and bytes too', { skip: noBrowser }, async () => {
  await choose('goods.arrow', toStream(PRODUCTS, 50));
  await page.getByRole('button', { name: 'Load', exact: true }).click();
  await page.getByRole('heading', { name: /^Imported 50 rows .* into shop \/ goods in/ }).waitFor();
  const { json } = await client.post('/v1/table/shop$goods/describe', {});
  assert.equal(json.schema.fields.length, Object.keys(PRODUCTS).length);
  assert.deepEqual(
    browser.complaints.filter((complaint) => !/409|ERR_CONNECTION_CLOSED/.test(complaint)),
    [],
  );
});
