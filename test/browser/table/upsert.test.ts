import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { sampleStream } from '../../support/arrow-tables.ts';
import { noBrowser } from '../../support/browser.ts';
import type { Browser } from '../../support/browser.ts';
import { Client } from '../../support/client.ts';
import { openConsole } from '../../support/console-page.ts';
import { auditPage, findOverflow } from '../../support/page-audit.ts';
import { becomes, holdNext, whenSettled } from '../../support/page-state.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let server: TestServer;
let browser: Browser;
let client: Client;
let page: Page;

suite('updating rows by key', { skip: noBrowser }, () => {
  before(async () => {
    server = await startServer({ flags: ['--maintenance-running-max=0'] });
    client = new Client(server.url);
    await client.arrow('/v1/table/items/create', sampleStream(60));
    browser = await openConsole();
    ({ page } = browser);
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  const open = async (): Promise<void> => {
    await page.goto('about:blank');
    await page.goto(`${server.url}/ui/#/change/items`);
    await page.getByText('Upsert', { exact: true }).click();
    await page.getByLabel('Rows', { exact: true }).waitFor();
  };
  const preview = async (): Promise<void> => page.getByRole('button', { name: 'Preview' }).click();
  const read = async (filter: string): Promise<Record<string, unknown>[]> => {
    return (await client.post('/v1/table/items/query', { filter }, { accept: 'application/json' })).json.rows;
  };

  test('pasted rows are counted as updates and inserts before anything is sent, and can be undone', async () => {
    await open();
    const rows = [
      { id: 3, price: 30.5, name: 'three', point: null, vec: [1, 2, 3, 4] },
      { id: 4, price: 6, name: 'name 4', point: { x: 2, label: 'p4' }, vec: [4, 5, 6, 7] },
      { id: 1000, price: 1, name: 'new', point: null, vec: [0, 0, 0, 0] },
    ];
    await page.getByLabel('Rows', { exact: true }).fill(JSON.stringify(rows));
    await preview();
    await page.getByRole('heading', { name: '2 rows would be updated, 1 inserted' }).waitFor();
    assert.equal((await read('id = 1000')).length, 0);
    assert.deepEqual(await auditPage(page), []);
    await page.getByRole('button', { name: 'Upsert 3 rows' }).click();
    await page.getByRole('heading', { name: '3 rows upserted' }).waitFor();
    assert.deepEqual(
      (await read('id = 3')).map((row) => [row['price'], row['vec']]),
      [[30.5, [1, 2, 3, 4]]],
    );
    assert.equal((await read('id = 1000')).length, 1);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText(/^Undone/).waitFor();
    assert.deepEqual(
      (await read('id in (3, 1000)')).map((row) => row['price']),
      [4.5],
    );
  });

  test('a dropped or chosen file is upserted, and rows without a key or with one twice are refused', async () => {
    await open();
    const csv = (text: string) => ({ name: 'rows.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
    const input = page.getByLabel('File with rows');
    await input.setInputFiles(csv('id,price\n5,1\n5,2\n'));
    await preview();
    await page.getByRole('alert').filter({ hasText: 'Two rows have id 5.' }).waitFor();
    await input.setInputFiles(csv('id,price\n5,1\n,2\n'));
    await preview();
    await page.getByRole('alert').filter({ hasText: 'A row has no id.' }).waitFor();
    await input.setInputFiles(csv('id,colour\n5,red\n'));
    await preview();
    await page.getByRole('alert').filter({ hasText: 'The table has no column colour' }).waitFor();
    await input.setInputFiles(csv('id,price\n5,50\n6,60\n'));
    await preview();
    await page.getByRole('heading', { name: '2 rows would be updated, 0 inserted' }).waitFor();
    await page.getByRole('button', { name: 'Upsert 2 rows' }).click();
    await page.getByRole('heading', { name: '2 rows upserted' }).waitFor();
    assert.deepEqual((await read('id in (5, 6)')).map((row) => [row['price'], row['name']]).toSorted(), [
      [50, 'name 5'],
      [60, 'name 6'],
    ]);
  });

  test('a table that was written to after the preview is left alone', async () => {
    await open();
    await page.getByLabel('Rows', { exact: true }).fill('id,price\n8,80\n');
    await preview();
    const button = page.getByRole('button', { name: 'Upsert 1 row' });
    await button.waitFor();
    await client.post('/v1/table/items/update', { updates: [['price', '0']], predicate: 'id = 9' });
    await button.click();
    await page.getByText(/The table has changed since the preview/).waitFor();
    assert.deepEqual(
      (await read('id = 8')).map((row) => row['price']),
      [12],
    );
  });

  test('after another branch is chosen, the rows are previewed again and written to that branch', async () => {
    await client.post('/v1/table/items/branches/create', { name: 'trial' });
    const on = async (branch: object): Promise<unknown> =>
      (await client.post('/v1/table/items/count_rows', { ...branch, predicate: 'price = 700' })).json;
    await open();
    await page.getByLabel('Rows', { exact: true }).fill('id,price\n7,700\n');
    await preview();
    const button = page.getByRole('button', { name: 'Upsert 1 row' });
    await button.waitFor();
    await page.getByLabel('Branch').selectOption('trial');
    await page.waitForURL(/branch=trial/);
    await becomes(async () => button.count(), 0);
    await preview();
    await page.getByRole('region', { name: 'Preview' }).getByText('trial', { exact: true }).waitFor();
    await button.click();
    await page.getByText(/^The branch trial is now at version/).waitFor();
    assert.deepEqual([await on({ branch: 'trial' }), await on({})], [1, 0]);
  });

  test('a preview of rows that were edited meanwhile is not shown', async () => {
    await open();
    const request = holdNext(page, '**/describe');
    const rows = page.getByLabel('Rows', { exact: true });
    await rows.fill('id,price\n7,1\n8,1\n');
    await preview();
    await request.reached;
    await rows.fill('id,price\n7,1\n');
    request.letGo();
    await whenSettled(page);
    assert.equal(await page.getByRole('button', { name: /^Upsert \d/ }).count(), 0);
    await preview();
    await page.getByRole('button', { name: 'Upsert 1 row' }).waitFor();
  });

  test('at the width of a phone rows are upserted too', async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    try {
      await open();
      assert.deepEqual(await findOverflow(page), []);
      assert.deepEqual(await auditPage(page), []);
    } finally {
      await page.setViewportSize({ width: 1280, height: 800 });
    }
  });
});
