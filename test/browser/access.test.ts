import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../support/arrow-tables.ts';
import { noBrowser } from '../support/browser.ts';
import type { Browser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { takePicture } from '../support/console.ts';
import { openConsole } from '../support/console-page.ts';
import { whenSettled } from '../support/page-state.ts';
import { startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

let server: TestServer;
let browser: Browser;
let client: Client;
let made: string;

suite('access', { skip: noBrowser }, () => {
  before(async () => {
    server = await startServer();
    client = new Client(server.url);
    await client.arrow('/v1/table/items/create', sampleStream(10));
    browser = await openConsole();
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  const open = async (address: string): Promise<void> => {
    await browser.page.goto('about:blank');
    await browser.page.goto(`${server.url}/ui/#/access${address}`);
  };
  const statusOf = async (key: string): Promise<number> =>
    (await new Client(server.url, { key }).post('/v1/table/items/count_rows', {})).status;

  test('a key is made, shown once, and works', async () => {
    const { page } = browser;
    await open('');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name', { exact: true }).fill('dashboard');
    await page.getByLabel('Namespace or table').fill('items');
    await page.getByLabel('Expires after (days)').fill('30');
    await page.getByRole('button', { name: 'Create' }).click();
    made = await page.getByLabel('API key', { exact: true }).inputValue();
    assert.equal(await statusOf(made), 200);
    await page.getByRole('button', { name: 'Done' }).click();
    const row = page.getByRole('row', { name: /dashboard/ });
    assert.match(await row.innerText(), /reader on default \/ items/);
    assert.equal(await page.getByText(made).count(), 0);
  });

  test('a role is given to it and taken away again', async () => {
    const { page } = browser;
    const { json } = await client.post('/v1/access/key/list', {});
    const { principal } = json.keys.find(({ name }: { name: string }) => name === 'dashboard');
    await open('/grants');
    await page.getByRole('button', { name: 'Grant a role' }).click();
    await page.getByLabel('To', { exact: true }).fill(principal);
    await page.getByLabel('Role', { exact: true }).selectOption('writer');
    await page.getByRole('button', { name: 'Grant', exact: true }).click();
    const row = page.getByRole('row', { name: /dashboard.*writer/s });
    await row.waitFor();
    await takePicture(page, 'access-grants');
    await row.getByRole('button', { name: /^Remove writer on default from dashboard/ }).click();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await row.waitFor({ state: 'detached' });
  });

  test('a client is made with its secret', async () => {
    const { page } = browser;
    await open('/clients');
    await page.getByRole('button', { name: 'New client' }).click();
    await page.getByLabel('Name', { exact: true }).fill('nightly load');
    await page.getByLabel('Role', { exact: true }).selectOption('writer');
    await page.getByRole('button', { name: 'Create' }).click();
    assert.ok((await page.getByLabel('Client secret', { exact: true }).inputValue()).length > 20);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('row', { name: /nightly load/ }).waitFor();
  });

  test('a quota is set, enforced, changed and removed, with bars of what is used', async () => {
    const { page } = browser;
    const insert = async (): Promise<number> => (await client.arrow('/v1/table/items/insert', sampleStream(5))).status;
    await open('/quotas');
    await page.getByText('No quotas yet').waitFor();
    await page.getByRole('button', { name: 'Set a quota' }).click();
    await page.getByLabel('Applies to', { exact: true }).fill('database:default');
    await page.getByLabel('Rows', { exact: true }).fill('1x');
    await page.getByText('Enter a whole number.').waitFor();
    await page.getByLabel('Rows', { exact: true }).fill('10');
    await page.getByLabel('Requests per second').fill('5000');
    await page.getByRole('button', { name: 'Set', exact: true }).click();
    const row = page.getByRole('row', { name: /database:default/ });
    assert.match(await row.innerText(), /10 of 10/);
    assert.match(await row.innerText(), /per second/);
    const bar = page.getByRole('progressbar', { name: 'rows of database:default' });
    assert.equal(await bar.getAttribute('aria-valuenow'), '100');
    await takePicture(page, 'access-quotas');
    assert.equal(await insert(), 403);
    await page.getByRole('button', { name: 'Change database:default' }).click();
    await page.getByLabel('Rows', { exact: true }).fill('20');
    await page.getByLabel('Requests per second').fill('');
    await page.getByRole('button', { name: 'Set', exact: true }).click();
    await row.getByText('10 of 20').waitFor();
    assert.doesNotMatch(await row.innerText(), /per second/);
    assert.equal(await insert(), 200);
    await page.getByRole('button', { name: 'Remove database:default' }).click();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('No quotas yet').waitFor();
  });

  test('a key that is revoked, after a question, no longer works', async () => {
    const { page } = browser;
    await open('');
    await page.getByRole('button', { name: 'Revoke dashboard' }).click();
    assert.equal(await statusOf(made), 200);
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText('Revoked dashboard.').waitFor();
    assert.equal(await statusOf(made), 401);
    await takePicture(page, 'access-keys');
  });

  test('nothing in the page complained', () => {
    assert.deepEqual(browser.complaints, []);
  });

  test('a caller who administers nothing sees its own limits and usage, an owner also those of the database', async () => {
    const see = async (role: string, limits: object): Promise<readonly string[]> => {
      const grants = [{ role, database: 'default' }];
      const { json } = await client.post('/v1/access/key/create', { name: 'plain', grants });
      assert.equal((await client.post('/v1/access/quota/set', { principal: json.principal, ...limits })).status, 200);
      const own = await openConsole(json.key);
      try {
        const { page } = own;
        await page.goto(`${server.url}/ui/#/access/quotas`);
        await page.getByRole('row', { name: json.principal }).waitFor();
        await whenSettled(page);
        assert.equal(await page.getByRole('alert').count(), 0);
        assert.equal(await page.getByRole('button', { name: /Set a quota|^Change|^Remove/ }).count(), 0);
        return await page.getByRole('row').allInnerTexts();
      } finally {
        await own.close();
      }
    };
    const [, mine = '', ...others] = await see('writer', { rows: 7, concurrent_reads: 3 });
    assert.match(mine, /You\s+key:.*0 of 7.*3 reads at once/s);
    assert.deepEqual(others, []);
    await client.post('/v1/access/quota/set', { database: 'default', tables: 9 });
    const [, , database = ''] = await see('owner', { rows: 7 });
    assert.match(database, /database:default.*1 of 9/s);
  });
});
