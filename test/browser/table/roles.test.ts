import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { sampleStream } from '../../support/arrow-tables.ts';
import { noBrowser } from '../../support/browser.ts';
import type { Browser } from '../../support/browser.ts';
import { Client } from '../../support/client.ts';
import { openConsole } from '../../support/console-page.ts';
import { becomes, whenSettled } from '../../support/page-state.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let server: TestServer;
let browser: Browser;
let page: Page;

const WRITER = 'Needs the writer role on items.';
const OWNER = 'Needs the owner role on items.';

suite('the table pages for a reader', { skip: noBrowser }, () => {
  before(async () => {
    server = await startServer({ flags: ['--maintenance-running-max=0'] });
    const client = new Client(server.url);
    await client.arrow('/v1/table/items/create', sampleStream(10));
    await client.post('/v1/table/items/tags/create', { tag: 'first', version: 1 });
    await client.post('/v1/table/items/create_index', { column: 'id', index_type: 'BTREE' });
    const grants = [{ role: 'reader', database: 'default' }];
    const { json } = await client.post('/v1/access/key/create', { name: 'dashboard', grants });
    browser = await openConsole(json.key);
    ({ page } = browser);
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  const open = async (place: string): Promise<void> => {
    await page.goto('about:blank');
    await page.goto(`${server.url}/ui/#/table/items${place}`);
    await page.getByRole('button', { name: 'dashboard reader' }).waitFor();
  };
  const refused = async (control: Locator, reason: string): Promise<void> => {
    await control.and(page.locator('[aria-disabled=true]')).waitFor();
    await becomes(async () => control.getAttribute('title'), reason);
  };
  const button = (name: string): Locator => page.getByRole('button', { name, exact: true });

  test('rows and columns can be read, and the buttons that change them say which role they need', async () => {
    await open('');
    await page.getByText('1–10 of 10').waitFor();
    await refused(button('Edit'), WRITER);
    await refused(button('Load'), WRITER);
    await open('?tab=schema');
    await refused(button('Add a column'), WRITER);
    await whenSettled(page);
    assert.equal(await page.getByRole('button', { name: /^Add metadata|^Actions on/ }).count(), 0);
  });

  test('a table is neither dropped nor renamed, and no version restored', async () => {
    await open('?tab=versions');
    await button('More').click();
    await refused(button('Drop …'), OWNER);
    await refused(button('Rename or move …'), OWNER);
    await page.keyboard.press('Escape');
    await button('Actions on version 1').click();
    await refused(button('Restore …'), WRITER);
    await page.getByRole('link', { name: 'Show rows' }).waitFor();
    await page.keyboard.press('Escape');
    await refused(button('Delete the tag first'), WRITER);
  });

  test('indexes are shown, and neither built nor dropped; maintenance is not run', async () => {
    await open('?tab=indexes');
    await refused(button('Build an index'), WRITER);
    await refused(button('Drop id_idx'), WRITER);
    await open('?tab=maintenance');
    await refused(button('Run now'), OWNER);
  });

  test('versions are compared', async () => {
    await open('?tab=versions&from=1&to=2');
    await page.getByRole('heading', { name: 'No row differs' }).waitFor();
  });
});
