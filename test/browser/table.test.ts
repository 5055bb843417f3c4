import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test, { after, before } from 'node:test';
import { Utf8, tableFromIPC } from 'apache-arrow';
import type { Page } from 'playwright-core';
import { toStream } from '../support/arrow-tables.ts';
import { noBrowser, openBrowser } from '../support/browser.ts';
import type { Browser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { PRODUCTS, fillShop, signIn, takePicture } from '../support/console.ts';
import { becomes, whenSettled } from '../support/page-state.ts';
import { startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

let server: TestServer;
let browser: Browser;
let page: Page;
let client: Client;

const TABLE = '/v1/table/shop$products';

before(async () => {
  if (noBrowser !== false) return;
  server = await startServer();
  client = new Client(server.url);
  await fillShop(client);
  browser = await openBrowser();
  ({ page } = browser);
  await signIn(page, server.url);
});

after(async () => {
  await browser?.close();
  await server?.close();
});

async function open(place: string): Promise<void> {
  await page.goto(`${server.url}/ui/#/table/shop/products${place}`);
  await page.getByRole('heading', { name: 'products' }).waitFor();
}

test('rows are paged, sorted and filtered by the server', { skip: noBrowser }, async () => {
  await open('');
  const grid = page.getByRole('grid');
  await page.getByText('1–100 of 2,547').waitFor();
  await grid.locator('tbody tr').nth(99).waitFor();
  assert.equal(await grid.locator('tbody tr').count(), 100);
  assert.ok((await grid.locator('svg.sparkline').count()) > 0, 'vectors are drawn');
  assert.ok((await grid.locator('img').count()) > 0, 'pictures are shown');
  assert.ok((await grid.getByText('null', { exact: true }).count()) > 0, 'nulls can be seen');
  await takePicture(page, 'rows');
  await page.getByRole('button', { name: 'Next page' }).click();
  await page.getByText('101–200 of 2,547').waitFor();
  await page.getByRole('button', { name: /^price/ }).click();
  await page.getByText('1–100 of 2,547').waitFor();
  await page.getByRole('textbox', { name: 'Filter' }).fill("price > 100 AND title LIKE 'amber%'");
  await page.keyboard.press('Enter');
  const { json } = await client.post(`${TABLE}/count_rows`, { predicate: "price > 100 AND title LIKE 'amber%'" });
  assert.ok(json > 0 && json <= 100);
  await page.getByText(`1–${json} of ${json}`, { exact: true }).waitFor();
  const prices = await grid.locator('tbody tr td:nth-child(3)').allInnerTexts();
  const numbers = prices.map(Number);
  assert.deepEqual(
    numbers,
    numbers.toSorted((one, other) => one - other),
  );
  assert.ok(numbers.every((price) => price > 100));
});

test(
  'filter, order and page stand in the address, which a reload and the way back show again',
  { skip: noBrowser },
  async () => {
    await open('');
    const grid = page.getByRole('grid');
    const { json: count } = await client.post(`${TABLE}/count_rows`, { predicate: 'in_stock' });
    const stocked = count.toLocaleString('en');
    const range = page.getByRole('group', { name: 'Pages of rows' }).getByRole('status');
    const shows = async (text: string): Promise<void> => range.filter({ hasText: text }).waitFor();
    await page.getByRole('textbox', { name: 'Filter' }).fill('in_stock');
    await page.keyboard.press('Enter');
    await shows(`1–100 of ${stocked}`);
    const price = page.getByRole('columnheader', { name: /^price/ });
    for (const order of ['ascending', 'descending']) {
      await page.getByRole('button', { name: /^price/ }).click();
      await price.and(page.locator(`[aria-sort=${order}]`)).waitFor();
    }
    await page.getByRole('button', { name: 'Next page' }).click();
    await shows(`101–200 of ${stocked}`);
    assert.match(page.url(), /filter=in_stock&sort=price&order=desc&page=2$/);
    const first = await grid.locator('tbody tr').first().innerText();
    await page.reload();
    await shows(`101–200 of ${stocked}`);
    assert.equal(await grid.locator('tbody tr').first().innerText(), first);
    await becomes(async () => page.getByRole('textbox', { name: 'Filter' }).inputValue(), 'in_stock');
    await page.goBack();
    await shows(`1–100 of ${stocked}`);
    for (let step = 0; step < 3; step += 1) await page.goBack();
    await shows('1–100 of 2,547');
    await becomes(async () => page.getByRole('textbox', { name: 'Filter' }).inputValue(), '');
    await page.goForward();
    await shows(`1–100 of ${stocked}`);
  },
);

test('choosing a tag or branch puts it into the address, and keeps filter and tab', { skip: noBrowser }, async () => {
  await open('?filter=id+%3C+10&page=1');
  await page.getByText(/of 27$/).waitFor();
  await page.getByRole('button', { name: /main · latest/ }).click();
  await page.getByRole('button', { name: /^spring/ }).click();
  await page.getByText('You are looking at version 2').waitFor();
  await page.getByText(/of 20$/).waitFor();
  assert.match(page.url(), /tag=spring&filter=/);
  await page.reload();
  await page.getByText(/of 20$/).waitFor();
  await page.getByRole('link', { name: 'Go to the latest' }).click();
  await page.getByText(/of 27$/).waitFor();
  await page.getByRole('link', { name: 'Schema' }).click();
  await page.getByRole('button', { name: /main · latest/ }).click();
  await page.getByRole('button', { name: /^pricing/ }).click();
  await page.getByRole('button', { name: /pricing · latest/ }).waitFor();
  assert.match(page.url(), /tab=schema&branch=pricing&filter=/);
  await open('?tag=never');
  assert.match(await page.getByRole('alert').innerText(), /no tag never/);
  await open('?page=999');
  await page.getByRole('button', { name: 'Go to the first page' }).click();
  await page.getByText('1–100 of 2,547').waitFor();
});

test('an error in a filter is shown at its position, and the previous rows stay', { skip: noBrowser }, async () => {
  await open('');
  await page.getByText('1–100 of 2,547').waitFor();
  // The count is refused first: the rows are asked for after it.
  await page.route('**/query', async (route) => {
    await page.waitForResponse(/\/count_rows/);
    await route.continue();
  });
  await page.getByRole('textbox', { name: 'Filter' }).fill('price > > 5');
  await page.keyboard.press('Enter');
  const fault = page.getByRole('alert');
  await fault.waitFor();
  await page.unroute('**/query');
  await page.getByRole('grid').locator('tbody tr').nth(99).waitFor();
  await page.getByText('1–100 of 2,547').waitFor();
  await becomes(async () => fault.innerText(), /at character 9/);
  assert.equal(await page.locator('.sql-box mark').innerText(), '>');
  await page.getByRole('button', { name: 'Help on filters' }).click();
  await page.getByRole('heading', { name: 'Filters are SQL expressions' }).waitFor();
  await takePicture(page, 'filter');
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Filters are SQL expressions' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Clear the filter' }).click();
  await page.getByText('1–100 of 2,547').waitFor();
});

test('what is typed right after the address has changed is not lost', { skip: noBrowser }, async () => {
  await open('');
  await page.getByText('1–100 of 2,547').waitFor();
  await page.evaluate(`new Promise((resolve) => {
    const type = () => {
      const box = document.querySelector('.sql-box textarea');
      box.value = 'id < 7';
      box.dispatchEvent(new InputEvent('input', { bubbles: true }));
      resolve();
    };
    // Before the next frame.
    addEventListener('hashchange', () => setTimeout(type), { once: true });
    location.hash = '#/table/shop/products?filter=id+%3C+5';
  })`);
  await whenSettled(page);
  await becomes(async () => page.getByRole('textbox', { name: 'Filter' }).inputValue(), 'id < 7');
});

test('coming back to the rows shows them at once, before the server has answered', { skip: noBrowser }, async () => {
  await open('');
  const rows = page.getByRole('grid').locator('tbody tr');
  await rows.nth(99).waitFor();
  await page.getByRole('link', { name: 'Schema' }).click();
  await page.getByText('demo-64').waitFor();
  let release = (): void => undefined;
  const isReleased = new Promise<void>((resolve) => (release = resolve));
  await page.route('**/query', async (route) => {
    await isReleased;
    await route.continue();
  });
  await page.getByRole('link', { name: 'Rows' }).click();
  await rows.nth(99).waitFor();
  await page.locator('.grid-frame.dim').waitFor();
  release();
  await page.locator('.grid-frame:not(.dim)').waitFor();
  await page.unroute('**/query');
});

test('the grid is walked with arrow keys, and Enter shows a value in full', { skip: noBrowser }, async () => {
  await open('');
  await page.getByRole('grid').waitFor();
  await whenSettled(page);
  await page.getByRole('gridcell').first().focus();
  for (let step = 0; step < 4; step += 1) await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'embedding' });
  await dialog.getByText('64 dimensions').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.locator('[data-cell="1:4"]:focus').waitFor();
});

test('the first column stays in view, a picture and a long text are shown in full', { skip: noBrowser }, async () => {
  await client.arrow(
    '/v1/table/shop$notes/create',
    toStream({ ...PRODUCTS, note: [new Utf8(), (row) => `${'a long story '.repeat(400)}${row}`] }, 3),
  );
  await page.goto(`${server.url}/ui/#/table/shop/notes`);
  const first = page.locator('[data-cell="0:0"]');
  await first.waitFor();
  await whenSettled(page);
  const before = await first.boundingBox();
  await page.evaluate("document.querySelector('.grid-frame').scrollLeft = 900");
  assert.ok(((await page.locator('[data-cell="0:1"]').boundingBox())?.x ?? 0) < (before?.x ?? 0), 'others scroll');
  assert.equal((await first.boundingBox())?.x, before?.x);
  await page.locator('[data-cell="0:9"]').dblclick();
  const dialog = page.getByRole('dialog', { name: 'note' });
  assert.match(await dialog.locator('pre').innerText(), /a long story 0$/);
  const wider = await page.evaluate(
    "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('dialog pre'))",
  );
  assert.equal(wider, 0, 'long lines are wrapped');
  await page.keyboard.press('Escape');
  await page.locator('[data-cell="0:5"]').dblclick();
  await page.getByRole('dialog', { name: 'photo' }).getByRole('img', { name: 'The image in this cell' }).waitFor();
  await page.keyboard.press('Escape');
  await client.post('/v1/table/shop$notes/drop', {});
});

test('rows are exported as Arrow, CSV, NDJSON and Parquet', { skip: noBrowser }, async () => {
  await open('');
  await page.getByRole('textbox', { name: 'Filter' }).fill('id < 10');
  await page.keyboard.press('Enter');
  await page.getByText(/of 27$/).waitFor();
  const exported = async (format: string): Promise<Buffer> => {
    await page.getByRole('button', { name: 'Export' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: new RegExp(`^${format}`) }).click(),
    ]);
    return readFile(await download.path());
  };
  assert.equal(tableFromIPC(await exported('Arrow')).numRows, 27);
  assert.equal((await exported('NDJSON')).toString().trim().split('\n').length, 27);
  const csv = (await exported('CSV')).toString();
  assert.match(csv, /^id,title,price,/);
  assert.equal((await exported('Parquet')).subarray(0, 4).toString(), 'PAR1');
});

test("a field's metadata is edited in place, and errors are shown there", { skip: noBrowser }, async () => {
  await open('?tab=schema');
  await page
    .getByRole('row', { name: /embedding/ })
    .getByText('float32[64]')
    .waitFor();
  await page.getByRole('row', { name: /width/ }).waitFor();
  await takePicture(page, 'schema');
  const metadata = async (): Promise<unknown> => {
    const { json } = await client.post(`${TABLE}/describe`, {});
    return json.schema.fields.find((field: { name: string }) => field.name === 'price').metadata;
  };
  const row = page.getByRole('row', { name: /price/ });
  const unit = row.getByRole('button', { name: 'Edit unit of price' });
  await unit.focus();
  await page.keyboard.press('Enter');
  await page.getByLabel('Value of unit of price').fill('GBP');
  await page.keyboard.press('Escape');
  await row.getByText('EUR').waitFor();
  await page.locator('[aria-label^="Edit unit of price"]:focus').waitFor();
  await unit.click();
  await page.getByLabel('Value of unit of price').fill('USD');
  await page.keyboard.press('Enter');
  await row.getByText('USD').waitFor();
  assert.deepEqual(await metadata(), { unit: 'USD', source: 'erp' });
  await row.getByRole('button', { name: 'Add metadata to price' }).click();
  await page.getByLabel('Name of new metadata of price').fill('lance-encoding:compression');
  await page.getByLabel('Value of new metadata of price').fill('none');
  await page.keyboard.press('Enter');
  assert.match(await row.getByRole('alert').innerText(), /belongs to the storage format/);
  await takePicture(page, 'metadata');
  await page.getByLabel('Name of new metadata of price').fill('owner');
  await page.getByLabel('Value of new metadata of price').fill('sales');
  await page.keyboard.press('Enter');
  await row.getByText('sales').waitFor();
  assert.deepEqual(await metadata(), { unit: 'USD', source: 'erp', owner: 'sales' });
  await row.getByRole('button', { name: 'Remove source of price' }).click();
  await row.getByText('erp').waitFor({ state: 'detached' });
  assert.deepEqual(await metadata(), { unit: 'USD', owner: 'sales' });
});

test(
  "the schema's own metadata is edited in place too, and a version of the past is not",
  { skip: noBrowser },
  async () => {
    await open('?tab=schema');
    await page.getByRole('button', { name: 'Add metadata to the schema' }).click();
    await page.getByLabel('Name of new metadata of the schema').fill('team');
    await page.getByLabel('Value of new metadata of the schema').fill('catalogue');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Edit team of the schema: catalogue' }).waitFor();
    const { json } = await client.post(`${TABLE}/describe`, {});
    assert.equal(json.schema.metadata.team, 'catalogue');
    await open('?tab=schema&version=8');
    await page.getByRole('row', { name: /price/ }).getByText('EUR').waitFor();
    assert.equal(await page.getByRole('button', { name: /^Add metadata/ }).count(), 0);
  },
);

test('versions are travelled to, compared, tagged, branched from and restored', { skip: noBrowser }, async () => {
  await open('?tab=versions');
  const line = (version: number) =>
    page.getByRole('listitem').filter({ has: page.getByText(`Version ${version}`, { exact: true }) });
  await line(1).getByText('created').waitFor();
  await line(2).getByText('spring').waitFor();
  await line(3).getByText('pricing').waitFor();
  await takePicture(page, 'versions');
  await page.getByLabel('Select version 2').check();
  await page.getByLabel('Select version 8').check();
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  await page.getByRole('heading', { name: 'From version 2 to version 8' }).waitFor();
  await page.getByRole('link', { name: 'All versions' }).click();
  const act = async (version: number, action: string): Promise<void> => {
    await page.getByRole('button', { name: `Actions on version ${version}`, exact: true }).click();
    await page.getByRole('button', { name: action }).click();
  };
  await act(4, 'Tag …');
  await page.getByLabel('Name', { exact: true }).fill('checked');
  await page.getByRole('button', { name: 'Tag', exact: true }).click();
  await line(4).getByText('checked').waitFor();
  await act(4, 'Create a branch …');
  await page.getByLabel('Name', { exact: true }).fill('trial');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await line(4).getByText('trial').waitFor();
  await page.getByRole('button', { name: 'Delete the tag checked' }).click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('checked', { exact: true }).waitFor({ state: 'detached' });
  await act(1, 'Restore …');
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/it will have the 2,000 of version 1/).waitFor();
  await dialog.getByText(/^Indexes that were built later are removed.*embedding_idx, title_idx/).waitFor();
  await page.getByRole('button', { name: 'Restore', exact: true }).click();
  await page.getByText('restored').waitFor();
  await page.getByRole('link', { name: 'Version 2', exact: true }).click();
  await page.getByText('You are looking at version 2').waitFor();
  await page.getByText('of 2,400').waitFor();
});

test('an index is built with progress, shows its coverage, and is dropped', { skip: noBrowser }, async () => {
  await open('?tab=indexes');
  await page.getByRole('button', { name: 'Build an index' }).click();
  await page.getByLabel('Column').selectOption('embedding');
  await page.getByLabel('Type').selectOption('IVF_PQ');
  await page.getByLabel('Partitions').fill('many');
  await page.getByText('Enter a whole number.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Build', exact: true }).isDisabled(), true);
  await page.getByLabel('Column').selectOption('price');
  await page.getByLabel('Type').selectOption('BTREE');
  await takePicture(page, 'build-index');
  await page.getByRole('button', { name: 'Build', exact: true }).click();
  const card = page.getByRole('article', { name: 'price_idx' });
  await card.getByText('2,000 rows indexed').waitFor();
  await takePicture(page, 'indexes');
  await card.getByRole('button', { name: 'Drop price_idx' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Drop' }).click();
  await card.waitFor({ state: 'detached' });
});

test(
  'an index on vectors gets its type from the server, and shows its measured recall',
  { skip: noBrowser },
  async () => {
    await open('?tab=indexes');
    await page.getByRole('button', { name: 'Build an index' }).click();
    await page.getByLabel('Column').selectOption('embedding');
    await page.getByRole('button', { name: 'Build', exact: true }).click();
    const card = page.getByRole('article', { name: 'embedding_idx' });
    await card.getByText('IVF_FLAT').waitFor();
    await card.getByText(/\d+% recall with nprobes \d+/).waitFor();
    await card.getByRole('button', { name: 'Drop embedding_idx' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Drop' }).click();
    await card.waitFor({ state: 'detached' });
  },
);

test('maintenance is run, paused and resumed', { skip: noBrowser }, async () => {
  await open('?tab=maintenance');
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('paused', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByText('automatic', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByRole('heading', { name: 'Last run' }).waitFor();
  await takePicture(page, 'maintenance');
  assert.deepEqual(
    browser.complaints.filter((complaint) => !complaint.includes('400')),
    [],
  );
});
