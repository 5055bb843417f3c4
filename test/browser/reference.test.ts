import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { noBrowser } from '../support/browser.ts';
import type { Browser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { fillShop, takeScreenshot } from '../support/console.ts';
import { openConsole } from '../support/console-page.ts';
import { becomes } from '../support/page-state.ts';
import { startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

let server: TestServer;
let browser: Browser;

suite('the API reference', { skip: noBrowser }, () => {
  before(async () => {
    server = await startServer();
    await fillShop(new Client(server.url));
    browser = await openConsole();
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  test('groups the operations, finds one by its path, and shows an example in three languages', async () => {
    const { page } = browser;
    await page.goto(`${server.url}/docs`);
    await page.getByRole('link', { name: 'Queries' }).waitFor();
    await page.getByPlaceholder(/filter/i).fill('count_rows');
    await page.locator('#operations-tag-Tables').waitFor({ state: 'detached' });
    await page.locator('#operations-tag-Queries button.expand-operation').click();
    await page.locator('#operations-Queries-count_table_rows .opblock-summary-control').click();
    const example = page.getByRole('region', { name: 'Example' });
    await becomes(async () => example.innerText(), /curl .*\/v1\/table\/items\/count_rows/);
    await example.getByRole('button', { name: 'Python' }).click();
    await becomes(async () => example.innerText(), /requests\.request\([\s\S]*"predicate": "price < 20"/);
    await example.getByRole('button', { name: 'TypeScript' }).click();
    await becomes(async () => example.innerText(), /await fetch\(/);
  });

  test('shows the types of the fields of a body', async () => {
    const { page } = browser;
    await page.goto('about:blank');
    await page.goto(`${server.url}/docs#/Queries/query_table`);
    const operation = page.locator('#operations-Queries-query_table');
    await operation.getByRole('tab', { name: 'Schema' }).first().click();
    await becomes(
      async () => operation.locator('.opblock-section-request-body').innerText(),
      /\bk\s+integer\s+minimum: 0/,
    );
  });

  test('sends a request with the credential of the console', async () => {
    const { page } = browser;
    await page.goto('about:blank');
    await page.goto(`${server.url}/docs#/Tables/list_tables`);
    await page.getByText('Requests are sent with the key of the console.').waitFor();
    const operation = page.locator('#operations-Tables-list_tables');
    await operation.getByRole('button', { name: 'Execute' }).click();
    await operation.locator('.live-responses-table .response-col_status').getByText('200').waitFor();
    await becomes(async () => operation.locator('.live-responses-table').innerText(), /shop/);
  });

  test('fits a phone, a tablet and a desktop, light and dark, within the content security policy', async () => {
    const { page } = browser;
    const faults: string[] = [];
    page.on(
      'console',
      (message) => /Content Security|Failed|Uncaught/.test(message.text()) && faults.push(message.text()),
    );
    page.on('pageerror', ({ message }) => faults.push(message));
    await page.goto('about:blank');
    await page.goto(`${server.url}/docs#/Writes/update_table`);
    await page.getByRole('region', { name: 'Example' }).waitFor();
    for (const [width, scheme] of [
      [390, 'light'],
      [768, 'dark'],
      [1440, 'light'],
    ] as const) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme: scheme });
      await becomes(async () => page.evaluate<number>('document.documentElement.scrollWidth'), width);
      await takeScreenshot(page, `reference-${width}-${scheme}`);
    }
    assert.deepEqual(faults, []);
  });
});
