import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import { noBrowser, openBrowser } from '../../support/browser.ts';
import type { Browser } from '../../support/browser.ts';
import { Client } from '../../support/client.ts';
import { openConsole } from '../../support/console-page.ts';
import { becomes } from '../../support/page-state.ts';
import { ADMIN_KEY, startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

const DIMENSION = 256;

let server: TestServer;
let browser: Browser;

suite('saved and recent queries', { skip: noBrowser }, () => {
  before(async () => {
    server = await startServer({ flags: ['--maintenance-running-max=0'] });
    const client = new Client(server.url);
    await client.arrow('/v1/table/items/create', sampleStream(30, DIMENSION));
    await client.post('/v1/database/create', { name: 'attic' });
    const attic = new Client(server.url, { headers: { 'x-service-database': 'attic' } });
    await attic.arrow('/v1/table/old/create', sampleStream(5));
    browser = await openConsole();
    await browser.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  const open = async (address: string): Promise<void> => {
    await browser.page.goto('about:blank');
    await browser.page.goto(`${server.url}/ui/#/lab${address}`);
  };
  const openMenu = async () => {
    await browser.page.getByRole('button', { name: 'Queries', exact: true }).click();
    return browser.page.getByRole('group', { name: 'Saved and recent queries' });
  };
  const stored = async (): Promise<string> =>
    String(await browser.page.evaluate("localStorage.getItem('tiltyard-queries')"));

  test('a query that ran is listed with its table, and can be opened again', async () => {
    const { page } = browser;
    await open('/items?filter=id+%3C+4&k=7');
    await page.getByText('4 rows').waitFor();
    await open('/items');
    await page.getByText('10 rows').waitFor();
    const menu = await openMenu();
    await menu.getByRole('link', { name: 'Scan, where id < 4, 7 rows' }).click();
    await page.getByText('4 rows').waitFor();
    assert.match(page.url(), /filter=id\+%3C\+4/);
  });

  test('a query is saved under a name, opened from the start of the lab, and deleted', async () => {
    const { page } = browser;
    await open('/items?filter=id+%3C+3');
    await page.getByText('3 rows').waitFor();
    const menu = await openMenu();
    await menu.getByRole('button', { name: 'Save' }).click();
    await menu.getByText('Enter a name.').waitFor();
    await menu.getByLabel('Save this query as').fill('first three');
    await menu.getByRole('button', { name: 'Save' }).click();
    await menu.getByRole('link', { name: /first three/ }).waitFor();
    await open('');
    await page.getByRole('link', { name: /first three/ }).click();
    await page.getByText('3 rows').waitFor();
    await openMenu();
    await menu.getByRole('button', { name: 'Delete the saved query first three' }).click();
    await menu.getByText('No saved queries of this table yet.').waitFor();
  });

  test('recent queries are bounded per table, can be cleared, and hold no credential', async () => {
    const { page } = browser;
    await open('/items');
    for (let k = 1; k <= 18; k += 1) {
      await page.evaluate(`location.hash = '#/lab/items?columns=id&k=${k}'`);
      await page.getByText(k === 1 ? '1 row' : `${k} rows`, { exact: true }).waitFor();
    }
    const menu = await openMenu();
    await becomes(async () => menu.getByRole('link').count(), 15);
    assert.ok(!(await stored()).includes(ADMIN_KEY));
    await menu.getByRole('button', { name: 'Clear' }).click();
    await menu.getByText('Queries that you run are listed here').waitFor();
  });

  test('a long vector makes no long address, and a reload finds the same rows', async () => {
    const { page } = browser;
    const vector = Array.from({ length: DIMENSION }, (_unused, at) => Math.fround(3.1 + at).toPrecision(8));
    await open('/items?search=vector&columns=id&k=3&source=paste&exact=1');
    await page.getByText('Paste a vector.').first().waitFor();
    await page.getByLabel(`${DIMENSION} numbers`).fill(`[${vector.join(', ')}]`);
    await page.getByRole('button', { name: 'Run' }).click();
    const grid = page.getByRole('grid', { name: 'Results' });
    await grid.waitFor();
    const found = await grid.locator('tbody').innerText();
    assert.ok(page.url().length < DIMENSION * 6 + 200, page.url());
    await page.reload();
    await grid.waitFor();
    assert.equal(await grid.locator('tbody').innerText(), found);
    assert.match(await page.getByLabel(`${DIMENSION} numbers`).inputValue(), /^\[3\.1, 4\.1, /);
  });

  test('a link opens for another user after signing in, in the database of its table', async () => {
    const owner = await openConsole();
    let link: string;
    try {
      await owner.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await owner.page.goto(`${server.url}/ui/#/lab/old?database=attic&filter=id+%3C+2&columns=name`);
      await owner.page.getByText('2 rows').waitFor();
      await owner.page.getByRole('button', { name: 'Copy link' }).click();
      await owner.page.getByText('Link copied.').waitFor();
      link = String(await owner.page.evaluate('navigator.clipboard.readText()'));
    } finally {
      await owner.close();
    }
    assert.ok(!link.includes(ADMIN_KEY));
    const other = await openBrowser();
    try {
      await other.page.goto(link);
      await other.page.getByLabel('API key').fill(ADMIN_KEY);
      await other.page.getByRole('button', { name: 'Sign in' }).click();
      await other.page.getByText('2 rows').waitFor();
      assert.deepEqual(await other.page.getByRole('grid').locator('th').allInnerTexts(), ['name']);
    } finally {
      await other.close();
    }
  });

  test('nothing in the page complained', () => assert.deepEqual(browser.complaints, []));
});
