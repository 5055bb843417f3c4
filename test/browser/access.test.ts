import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../support/arrow-tables.ts';
import { noBrowser } from '../support/browser.ts';
import type { Browser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { takePicture } from '../support/console.ts';
import { openConsole } from '../support/console-page.ts';
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
    await page.getByLabel('Days until it ends').fill('30');
    await page.getByRole('button', { name: 'Create' }).click();
    made = await page.getByLabel('API key', { exact: true }).inputValue();
    assert.equal(await statusOf(made), 200);
    await page.getByRole('button', { name: 'I have kept it' }).click();
    const row = page.getByRole('row', { name: /dashboard/ });
    assert.match(await row.innerText(), /reader on default \/ items/);
    assert.equal(await page.getByText(made).count(), 0);
  });

  test('a role is given to it and taken away again', async () => {
    const { page } = browser;
    const { json } = await client.post('/v1/access/key/list', {});
    const { principal } = json.keys.find(({ name }: { name: string }) => name === 'dashboard');
    await open('/grants');
    await page.getByRole('button', { name: 'Give a role' }).click();
    await page.getByLabel('To whom').fill(principal);
    await page.getByLabel('Role', { exact: true }).selectOption('writer');
    await page.getByRole('button', { name: 'Give', exact: true }).click();
    const row = page.getByRole('row', { name: /dashboard.*writer/s });
    await row.waitFor();
    await takePicture(page, 'access-grants');
    await row.getByRole('button', { name: /^Take writer on default away/ }).click();
    await page.getByRole('button', { name: 'Take away' }).click();
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
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await page.getByRole('row', { name: /nightly load/ }).waitFor();
  });

  test('a key that is revoked, after a question, no longer works', async () => {
    const { page } = browser;
    await open('');
    await page.getByRole('button', { name: 'Revoke dashboard' }).click();
    assert.equal(await statusOf(made), 200);
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText('dashboard is revoked.').waitFor();
    assert.equal(await statusOf(made), 401);
    await takePicture(page, 'access-keys');
  });

  test('nothing in the page complained', () => {
    assert.deepEqual(browser.complaints, []);
  });
});
