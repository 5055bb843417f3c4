import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../support/arrow-tables.ts';
import { noBrowser } from '../support/browser.ts';
import type { Browser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { openConsole } from '../support/console-page.ts';
import { becomes } from '../support/page-state.ts';
import { startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

let server: TestServer;
let client: Client;
let reader: Browser;

suite('roles in the console', { skip: noBrowser }, () => {
  before(async () => {
    server = await startServer();
    client = new Client(server.url);
    await client.post('/v1/namespace/shop/create', {});
    await client.post('/v1/namespace/drafts/create', {});
    await client.arrow('/v1/table/shop$items/create', sampleStream(10));
    const grants = [{ role: 'reader', database: 'default' }];
    const { json } = await client.post('/v1/access/key/create', { name: 'dashboard', grants });
    reader = await openConsole(json.key);
  });
  after(async () => {
    await reader.close();
    await server.close();
  });

  const linksOf = async ({ page }: Browser): Promise<readonly string[]> =>
    page.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts();

  test('the header shows the name of the key and its role, and the menu all its roles', async () => {
    const { page } = reader;
    await page.goto(`${server.url}/ui/#/namespace/shop`);
    const account = page.getByRole('button', { name: 'dashboard reader' });
    await account.click();
    await page.getByRole('list', { name: 'Your roles' }).getByText('reader on default').waitFor();
    await page.keyboard.press('Escape');
  });

  test('a reader sees no views for writers and administrators, and why the buttons for them are grey', async () => {
    const { page } = reader;
    await page.getByRole('button', { name: 'dashboard reader' }).waitFor();
    await becomes(async () => linksOf(reader), ['Tables', 'Lab', 'Activity', 'Access']);
    const create = page.getByRole('button', { name: 'New namespace' });
    await becomes(async () => create.getAttribute('title'), 'Needs the writer role on shop.');
    await becomes(async () => create.getAttribute('aria-disabled'), 'true');
    await create.click({ force: true });
    await page.getByText('Needs the writer role on shop.').waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
    const drop = page.getByRole('button', { name: 'Drop' });
    await becomes(async () => drop.getAttribute('title'), 'Needs the owner role on shop.');
    await page.goto(`${server.url}/ui/#/namespace/drafts`);
    await page.getByRole('heading', { name: 'No tables yet' }).waitFor();
  });

  test('on the access page a caller without the admin role sees its quotas', async () => {
    const { page } = reader;
    await page.goto(`${server.url}/ui/#/access`);
    await page.getByText(/shown to callers with the admin role/).waitFor();
    await page.getByRole('row', { name: /You/ }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Keys' }).count(), 0);
  });

  test('a role on one namespace counts there and nowhere else', async () => {
    const grants = [
      { role: 'reader', database: 'default' },
      { role: 'owner', database: 'default', path: ['shop'] },
    ];
    const { json } = await client.post('/v1/access/key/create', { name: 'shopkeeper', grants });
    const owner = await openConsole(json.key);
    try {
      const { page } = owner;
      await page.goto(`${server.url}/ui/#/namespace/shop`);
      await page.getByRole('button', { name: 'shopkeeper owner' }).waitFor();
      await becomes(async () => linksOf(owner), ['Tables', 'Load data', 'Lab', 'Change', 'Activity', 'Access']);
      const create = page.getByRole('button', { name: 'New namespace' });
      await becomes(async () => create.getAttribute('aria-disabled'), null);
      await page.goto(`${server.url}/ui/#/namespace/drafts`);
      await page.getByRole('heading', { name: 'drafts' }).waitFor();
      await becomes(async () => create.getAttribute('title'), 'Needs the writer role on drafts.');
    } finally {
      await owner.close();
    }
  });

  test('a file is loaded only where the caller may write, and the button says so before', async () => {
    const grants = [
      { role: 'reader', database: 'default' },
      { role: 'writer', database: 'default', path: ['shop'] },
    ];
    const { json } = await client.post('/v1/access/key/create', { name: 'loader', grants });
    const writer = await openConsole(json.key);
    try {
      const { page } = writer;
      await page.goto(`${server.url}/ui/#/load/shop`);
      const file = { name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from('id,name\n1,Ada\n') };
      await page.getByLabel('File to load').setInputFiles(file);
      const load = page.getByRole('button', { name: 'Load', exact: true });
      await page.getByRole('button', { name: 'loader writer' }).waitFor();
      await becomes(async () => load.getAttribute('aria-disabled'), null);
      await page.getByLabel('Namespace').fill('drafts');
      await page.getByTitle('Needs the writer role on drafts / people.').waitFor();
      await becomes(async () => load.getAttribute('aria-disabled'), 'true');
    } finally {
      await writer.close();
    }
  });

  test('changes are listed with the name of the key that made them, also when it was revoked', async () => {
    const { json } = await client.post('/v1/access/key/create', {
      name: 'nightly load',
      grants: [{ role: 'writer', database: 'default' }],
    });
    await new Client(server.url, { key: json.key }).arrow('/v1/table/shop$items/insert', sampleStream(5));
    await client.post('/v1/access/key/revoke', { key_id: json.id });
    const { page } = reader;
    await page.goto(`${server.url}/ui/#/activity`);
    await page.getByRole('region', { name: 'Changes' }).getByText('nightly load').waitFor();
    await page.goto(`${server.url}/ui/#/table/shop/items?tab=versions`);
    await page.getByText(/by nightly load/).waitFor();
  });
});
