import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../support/arrow-tables.ts';
import { noBrowser } from '../support/browser.ts';
import type { Browser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { takePicture } from '../support/console.ts';
import { openConsole } from '../support/console-page.ts';
import { becomes, whenSettled } from '../support/page-state.ts';
import { startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

let server: TestServer;
let browser: Browser;
let client: Client;

suite('changing rows', { skip: noBrowser }, () => {
  before(async () => {
    server = await startServer({ flags: ['--maintenance-running-max=0'] });
    client = new Client(server.url);
    await client.arrow('/v1/table/items/create', sampleStream(60));
    browser = await openConsole();
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  const open = async (address: string): Promise<void> => {
    await browser.page.goto('about:blank');
    await browser.page.goto(`${server.url}/ui/#/change${address}`);
  };
  const price = async (id: number): Promise<unknown> => {
    const body = { filter: `id = ${id}`, columns: { column_names: ['price'] } };
    const { json } = await client.post('/v1/table/items/query', body, { accept: 'application/json' });
    return json.rows[0]?.price;
  };
  const count = async (): Promise<unknown> => (await client.post('/v1/table/items/count_rows', {})).json;

  test('an update is previewed before and after, changes nothing until it is run, and can be undone', async () => {
    const { page } = browser;
    await open('/items');
    await page.getByLabel('Column', { exact: true }).selectOption('price');
    await page.getByRole('textbox', { name: 'New value of price' }).fill('price * 2');
    await page.getByRole('textbox', { name: 'Rows where' }).fill('id between 2 and 31');
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('heading', { name: '30 rows would change' }).waitFor();
    const first = page.getByRole('table').locator('tbody tr').first();
    assert.deepEqual(await first.locator('del, ins').allInnerTexts(), ['3', '6']);
    assert.equal(await price(2), 3);
    await takePicture(page, 'change-preview');
    await page.getByRole('button', { name: 'Update exactly these 30 rows' }).click();
    await page.getByRole('heading', { name: '30 rows updated' }).waitFor();
    assert.equal(await price(2), 6);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText(/^Undone: version \d+ has the same contents as version 1/).waitFor();
    assert.equal(await price(2), 3);
  });

  test('a preview shows what is stored, not what was calculated', async () => {
    const { page } = browser;
    await open('/items?set=id:id+%2B+0.7&where=id+%3D+4');
    await page.getByRole('heading', { name: '1 row would change' }).waitFor();
    const shown = (await page.locator('ins').first().innerText()).trim();
    await page.getByRole('button', { name: 'Update exactly these 1 row' }).click();
    await page.getByRole('heading', { name: '1 row updated' }).waitFor();
    const body = { filter: 'price = 6.0', columns: { column_names: ['id'] } };
    const { json } = await client.post('/v1/table/items/query', body, { accept: 'application/json' });
    assert.equal(shown, String(json.rows[0].id));
  });

  test('a table that somebody else changed meanwhile is left alone', async () => {
    const { page } = browser;
    await open('/items?kind=delete&where=id+%3E+50');
    await page.getByRole('heading', { name: '9 rows would be deleted' }).waitFor();
    const before = await count();
    await client.post('/v1/table/items/update', { updates: [['price', '0']], predicate: 'id = 55' });
    await page.getByRole('button', { name: 'Delete exactly these 9 rows' }).click();
    await page.getByText(/The table has changed since the preview/).waitFor();
    assert.equal(await count(), before);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('button', { name: 'Delete exactly these 9 rows' }).click();
    await page.getByRole('heading', { name: '9 rows deleted' }).waitFor();
    assert.equal(await count(), Number(before) - 9);
  });

  test('a change is previewed and run on a branch, and leaves the others alone', async () => {
    const { page } = browser;
    await client.post('/v1/table/items/branches/create', { name: 'trial' });
    const on = async (branch: object): Promise<unknown> =>
      (await client.post('/v1/table/items/count_rows', { ...branch, predicate: 'price = -5' })).json;
    await open('/items?set=price:-5&where=id+%3C+3');
    await page.getByRole('button', { name: 'Update exactly these 3 rows' }).waitFor();
    await page.getByLabel('Branch').selectOption('trial');
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('region', { name: 'Preview' }).getByText('trial', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Update exactly these 3 rows' }).click();
    await page.getByText(/^The branch trial is now at version/).waitFor();
    assert.deepEqual([await on({ branch: 'trial' }), await on({})], [3, 0]);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText(/^Undone/).waitFor();
    assert.deepEqual([await on({ branch: 'trial' }), await on({})], [0, 0]);
    assert.match(page.url(), /branch=trial/);
  });

  test('a change is previewed on a branch with other columns than main', async () => {
    const { page } = browser;
    await client.post('/v1/table/items/branches/create', { name: 'narrow' });
    await client.post('/v1/table/items/drop_columns', { columns: ['name'], branch: 'narrow' });
    await open('/items?set=price:-5&where=id+%3C+3');
    await page.getByRole('columnheader', { name: 'name', exact: true }).waitFor();
    await page.getByLabel('Branch').selectOption('narrow');
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('region', { name: 'Preview' }).getByText('narrow', { exact: true }).waitFor();
    await whenSettled(page);
    assert.deepEqual(await page.getByRole('alert').allInnerTexts(), []);
    assert.equal(await page.getByRole('columnheader', { name: 'name', exact: true }).count(), 0);
  });

  test('what no longer matches the form cannot be run', async () => {
    const { page } = browser;
    await open('/items?kind=delete&where=id+%3C+3');
    const button = page.getByRole('button', { name: 'Delete exactly these 3 rows' });
    await button.waitFor();
    await page.getByRole('textbox', { name: 'Rows where' }).fill('id < 30');
    await becomes(async () => button.isDisabled(), true);
  });

  test('nothing in the page complained', () => {
    assert.deepEqual(browser.complaints, []);
  });
});
