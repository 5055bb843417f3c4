import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { sampleStream } from '../support/arrow-tables.ts';
import { noBrowser, openBrowser } from '../support/browser.ts';
import type { Browser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { fillShop, signIn, takePicture } from '../support/console.ts';
import { holdNext, whenSettled } from '../support/page-state.ts';
import { startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

let server: TestServer;
let browser: Browser;

before(async () => {
  if (noBrowser !== false) return;
  server = await startServer();
  await fillShop(new Client(server.url));
  browser = await openBrowser();
  await signIn(browser.page, server.url);
});

after(async () => {
  await browser?.close();
  await server?.close();
});

test('a namespace opens in the tree, and its tables show their numbers', { skip: noBrowser }, async () => {
  const { page } = browser;
  await page.getByRole('treeitem', { name: 'shop' }).click();
  await page.getByRole('treeitem', { name: 'products' }).waitFor();
  const row = page.getByRole('row', { name: /products/ });
  await row.getByText('2,547').waitFor();
  assert.match(await row.innerText(), /KiB|MiB/);
  assert.match(await page.getByLabel('Properties').innerText(), /shop@example\.org/);
  await page
    .getByRole('row', { name: /returns/ })
    .getByText('60')
    .waitFor();
  await takePicture(page, 'browse');
});

test('the tree is walked with the keyboard alone', { skip: noBrowser }, async () => {
  const { page } = browser;
  await page.getByRole('tree').focus();
  await page.keyboard.press('Home');
  const archive = page.getByRole('treeitem', { name: 'archive' });
  await page.keyboard.press('ArrowRight');
  await archive.and(page.locator('[aria-expanded=true]')).waitFor();
  await page.keyboard.press('ArrowLeft');
  await archive.and(page.locator('[aria-expanded=false]')).waitFor();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'readings' }).waitFor();
  await page.getByRole('treeitem', { name: 'readings', selected: true }).waitFor();
});

test('a name is found wherever it occurs', { skip: noBrowser }, async () => {
  const { page } = browser;
  await page.getByLabel('Search tables by name').fill('sto');
  await page.getByRole('link', { name: /stock/ }).click();
  await page.getByRole('heading', { name: 'stock' }).waitFor();
  await page.getByLabel('Search tables by name').fill('');
});

test('a URL that cannot be decoded shows what is wrong with the name', { skip: noBrowser }, async () => {
  const { page } = browser;
  await page.goto(`${server.url}/ui/#/table/100%`);
  await page.getByRole('heading', { name: '100%' }).waitFor();
  await page.getByText('The name "100%" contains the character').waitFor();
});

test('a namespace is created, and dropped after its name was typed', { skip: noBrowser }, async () => {
  const { page } = browser;
  await page.getByRole('link', { name: 'Tiltyard' }).click();
  await page.getByRole('button', { name: 'New namespace' }).click();
  await page.getByLabel('Name', { exact: true }).fill('drafts');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'drafts' }).waitFor();
  await page.getByRole('heading', { name: 'Create the first table' }).waitFor();
  const nothing = page.getByRole('treeitem', { name: 'No tables yet' });
  const look = 'getComputedStyle(document.querySelector(".tree .row.note"))';
  await nothing.waitFor();
  assert.equal(await page.evaluate(`${look}.borderTopWidth + ${look}.backgroundColor`), '0pxrgba(0, 0, 0, 0)');
  await page.getByRole('button', { name: 'Drop' }).click();
  const drop = page.getByRole('dialog').getByRole('button', { name: 'Drop' });
  assert.ok(await drop.isDisabled());
  await page.getByLabel('Type drafts to confirm').fill('drafts');
  await drop.click();
  await page.getByRole('treeitem', { name: 'drafts' }).waitFor({ state: 'detached' });
});

test('a table is renamed and dropped, and the tree follows', { skip: noBrowser }, async () => {
  const { page } = browser;
  await page.goto(`${server.url}/ui/#/table/shop/returns`);
  await page.getByRole('heading', { name: 'returns' }).waitFor();
  // Nothing asks for the table by its old name any more.
  await whenSettled(page);
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Rename or move' }).click();
  await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('refunds');
  await page.getByRole('button', { name: 'Rename', exact: true }).click();
  await page.getByRole('heading', { name: 'refunds' }).waitFor();
  await page.getByRole('treeitem', { name: 'refunds' }).waitFor();
  await whenSettled(page);
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Drop …' }).click();
  await page.getByLabel('Type refunds to confirm').fill('refunds');
  await page.getByRole('dialog').getByRole('button', { name: 'Drop' }).click();
  await page.getByRole('treeitem', { name: 'refunds' }).waitFor({ state: 'detached' });
  assert.equal((await new Client(server.url).post('/v1/table/shop$refunds/exists', {})).status, 404);
});

test('a rename whose dialog was closed leads nowhere, and closes no other dialog', { skip: noBrowser }, async () => {
  const { page } = browser;
  await page.goto(`${server.url}/ui/#/table/shop/orders`);
  await page.getByRole('heading', { name: 'orders' }).waitFor();
  await whenSettled(page);
  const { reached, letGo } = holdNext(page, '**/rename*');
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Rename or move' }).click();
  await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('sales');
  await page.getByRole('button', { name: 'Rename', exact: true }).click();
  await reached;
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Drop …' }).click();
  const drop = page.getByRole('dialog', { name: 'Drop orders?' });
  await drop.waitFor();
  letGo();
  await page.locator('.toast').filter({ hasText: 'The table is now shop / sales.' }).waitFor();
  await page.getByRole('treeitem', { name: 'sales' }).waitFor();
  await whenSettled(page);
  assert.match(page.url(), /\/table\/shop\/orders$/);
  assert.equal(await drop.count(), 1);
  await page.keyboard.press('Escape');
});

test('of thousands of tables only those in sight are drawn', { skip: noBrowser }, async () => {
  const { page } = browser;
  const client = new Client(server.url);
  await client.post('/v1/namespace/many/create', {});
  const names = Array.from({ length: 1200 }, (_unused, index) => `t${String(index).padStart(4, '0')}`);
  await client.arrow('/v1/table/many$t0000/create', sampleStream(3));
  for (let at = 1; at < names.length; at += 50) {
    await Promise.all(names.slice(at, at + 50).map(async (name) => client.post(`/v1/table/many$${name}/declare`, {})));
  }
  await page.goto(`${server.url}/ui/#/namespace/many`);
  await page.reload();
  await page.getByRole('treeitem', { name: 't0001' }).waitFor();
  const drawn = await page.getByRole('treeitem').count();
  assert.ok(drawn < 80, `${drawn} rows are drawn`);
  await page.getByRole('tree').focus();
  await page.keyboard.press('End');
  await page.getByRole('treeitem', { name: 'readings' }).waitFor();
  await page.getByLabel('Search tables by name').fill('t1199');
  await page.getByRole('link', { name: /t1199/ }).waitFor();
  // The name that is refused.
  const own = browser.complaints.filter((words) => !/status of 400/.test(words));
  assert.deepEqual(own, []);
});
