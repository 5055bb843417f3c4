import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { Receiver } from '../events/receiver.ts';
import { sampleStream } from '../support/arrow-tables.ts';
import { noBrowser } from '../support/browser.ts';
import type { Browser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { takePicture } from '../support/console.ts';
import { openConsole } from '../support/console-page.ts';
import { auditPage, findOverflow } from '../support/page-audit.ts';
import { startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

let server: TestServer;
let browser: Browser;
let client: Client;
let page: Page;

suite('events and webhooks in the console', { skip: noBrowser }, () => {
  before(async () => {
    server = await startServer({
      flags: [
        '--webhooks-allow-http=true',
        '--webhooks-allowed-networks=127.0.0.1',
        '--webhooks-retry-seconds-max=60',
        '--webhooks-poll-seconds=0.05',
      ],
    });
    client = new Client(server.url);
    for (const table of ['items', 'orders']) await client.arrow(`/v1/table/${table}/create`, sampleStream(20));
    browser = await openConsole();
    ({ page } = browser);
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  const update = async (table: string): Promise<void> => {
    const { status, text } = await client.post(`/v1/table/${table}/update`, { updates: [['price', 'price + 1']] });
    assert.equal(status, 200, text);
  };
  const line = (text: RegExp) => page.getByRole('listitem').filter({ hasText: text });

  test('commits appear as they happen, with the name of the caller', async () => {
    await page.goto(`${server.url}/ui/#/activity/events`);
    await page.getByText('Live', { exact: true }).waitFor();
    await line(/administrator\s*create table items/).waitFor();
    await update('items');
    await line(/administrator\s*update table items version 2/).waitFor();
  });

  test('a filter shows one table, and is part of the address', async () => {
    await page.getByLabel('Table or namespace').fill('orders');
    await page.getByRole('button', { name: 'Filter' }).click();
    await line(/items/).first().waitFor({ state: 'detached' });
    await page.getByText('Live', { exact: true }).waitFor();
    await update('items');
    await update('orders');
    await line(/update table orders version 2/).waitFor();
    assert.equal(await line(/items/).count(), 0);
    assert.match(page.url(), /of=orders/);
  });

  test('what was committed during a pause or a reload is shown afterwards, once', async () => {
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused', { exact: true }).waitFor();
    await update('orders');
    await page.getByRole('button', { name: 'Resume' }).click();
    await line(/orders version 3/).waitFor();
    await page.goto('about:blank');
    await update('orders');
    const asked = page.waitForRequest(/\/v1\/events\?cursor=/);
    await page.goto(`${server.url}/ui/#/activity/events?of=orders`);
    await asked;
    await line(/orders version 4/).waitFor();
    for (const version of [2, 3, 4]) assert.equal(await line(new RegExp(`orders version ${version}`)).count(), 1);
  });

  test('a webhook is created, its secret is shown once, and it delivers', async () => {
    const receiver = await Receiver.start();
    try {
      await page.goto(`${server.url}/ui/#/activity/webhooks`);
      await page.getByText('No webhooks yet').waitFor();
      await page.getByRole('button', { name: 'New webhook' }).click();
      const dialog = page.getByRole('dialog', { name: 'New webhook' });
      await dialog.getByLabel('URL').fill('https://10.0.0.1/');
      await dialog.getByRole('button', { name: 'Create' }).click();
      await dialog.getByText('not public').waitFor();
      await dialog.getByLabel('URL').fill(receiver.url);
      await dialog.getByLabel('Commits of').selectOption('table');
      await dialog.getByLabel('Table', { exact: true }).fill('items');
      await dialog.getByRole('button', { name: 'Create' }).click();
      const secret = page.getByRole('dialog', { name: 'Created the webhook' });
      await secret.waitFor();
      assert.match(await secret.getByLabel('Secret').inputValue(), /^whsec_/);
      await secret.getByRole('button', { name: 'Done' }).click();
      await secret.waitFor({ state: 'detached' });
      const row = page.getByRole('row', { name: new RegExp(receiver.url) });
      await row.getByText('active').waitFor();
      await row.getByText('none yet').waitFor();
      await update('items');
      await row.getByText('1 event so far').waitFor();
      await takePicture(page, 'webhooks');
      await row.getByRole('button', { name: 'Test' }).click();
      await page.getByText('The receiver responded with status 204.').waitFor();
    } finally {
      await receiver.close();
    }
  });

  test('one that fails says why, and is disabled, resumed, edited and deleted', async () => {
    const row = page.getByRole('row', { name: /127\.0\.0\.1/ });
    await update('items');
    await row.getByText('failing').waitFor();
    await row.getByText(/\d+ failed attempts?\. .*cannot be reached/).waitFor();
    await row.getByRole('button', { name: /^Disable/ }).click();
    await row.getByText('disabled').waitFor();
    const receiver = await Receiver.start();
    try {
      await row.getByRole('button', { name: /^Edit/ }).click();
      const dialog = page.getByRole('dialog', { name: 'Edit the webhook' });
      assert.equal(await dialog.getByLabel('Table', { exact: true }).inputValue(), 'items');
      await dialog.getByLabel('URL').fill(receiver.url);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.waitFor({ state: 'detached' });
      const moved = page.getByRole('row', { name: new RegExp(receiver.url) });
      await moved.getByRole('button', { name: 'Resume' }).click();
      await moved.getByText('2 events so far').waitFor();
      await moved.getByText('active').waitFor();
      assert.deepEqual(await auditPage(page), []);
      assert.deepEqual(await findOverflow(page), []);
      await moved.getByRole('button', { name: /^Delete/ }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByText('No webhooks yet').waitFor();
    } finally {
      await receiver.close();
    }
  });

  test('an edited webhook keeps a name that ends with a space', async () => {
    await client.arrow('/v1/table/items%20/create', sampleStream(2));
    const { json } = await client.post('/v1/webhook/create', { url: 'http://127.0.0.1:9/', table: ['items '] });
    await page.reload();
    await page.getByRole('button', { name: /^Edit/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit the webhook' });
    await dialog.getByLabel('URL').fill('http://127.0.0.1:10/');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { webhook_id: id } = json;
    const described = await client.post('/v1/webhook/describe', { webhook_id: id });
    assert.deepEqual([described.json.url, described.json.table], ['http://127.0.0.1:10/', ['items ']]);
    await client.post('/v1/webhook/delete', { webhook_id: id });
  });

  test('who owns nothing sees events but no webhooks', async () => {
    const grants = [{ role: 'reader', database: 'default', path: ['items'] }];
    const { json } = await client.post('/v1/access/key/create', { name: 'visitor', grants });
    const other = await openConsole(json.key);
    try {
      await other.page.goto(`${server.url}/ui/#/activity/events`);
      await other.page.getByRole('listitem').filter({ hasText: 'items' }).first().waitFor();
      await other.page.getByText('visitor').waitFor();
      await other.page.getByRole('button', { name: 'Webhooks' }).waitFor({ state: 'detached' });
      assert.equal(await other.page.getByRole('listitem').filter({ hasText: 'orders' }).count(), 0);
    } finally {
      await other.close();
    }
  });

  test('nothing in the page complained', () => {
    // The browser's note of the refused address.
    assert.deepEqual(
      browser.complaints.filter((complaint) => !complaint.includes('400')),
      [],
    );
  });
});
