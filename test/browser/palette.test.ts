import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { noBrowser } from '../support/browser.ts';
import type { Browser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { fillShop } from '../support/console.ts';
import { openConsole } from '../support/console-page.ts';
import { becomes } from '../support/page-state.ts';
import { startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

let server: TestServer;
let browser: Browser;

suite('the command palette', { skip: noBrowser }, () => {
  before(async () => {
    server = await startServer();
    await fillShop(new Client(server.url));
    browser = await openConsole();
    await browser.page.goto(`${server.url}/ui/#/activity`);
    await browser.page.getByRole('heading', { name: 'Activity' }).waitFor();
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  const palette = () => browser.page.getByRole('dialog', { name: 'Search tables and actions' });
  const marked = () => palette().getByRole('option', { selected: true });

  test('opens with Ctrl-K and with a slash, and Escape closes it and gives the focus back', async () => {
    const { page } = browser;
    const pause = page.getByRole('button', { name: 'Pause' });
    await pause.focus();
    for (const keys of ['Control+k', '/', 'Meta+k']) {
      await page.keyboard.press(keys);
      await palette().waitFor();
      await page.keyboard.press('Escape');
      await palette().waitFor({ state: 'detached' });
      await page.locator(':focus', { hasText: 'Pause' }).waitFor();
    }
  });

  test('finds a table by parts of its path, and Enter goes there', async () => {
    const { page } = browser;
    await page.keyboard.press('Control+k');
    await palette().waitFor();
    await page.keyboard.type('shop prod');
    await palette().getByRole('option', { name: 'products shop' }).waitFor();
    await becomes(async () => marked().innerText(), /products/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'products' }).waitFor();
    await palette().waitFor({ state: 'detached' });
  });

  test('arrow keys move through namespaces, views and actions; recent tables come first', async () => {
    const { page } = browser;
    await page.keyboard.press('Control+k');
    await palette().getByRole('group', { name: 'Recent tables' }).getByText('products').waitFor();
    await page.keyboard.press('ArrowDown');
    await becomes(async () => marked().innerText(), 'Tables');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    await becomes(async () => marked().innerText(), 'Sign out');
    await page.keyboard.type('eu');
    await palette().getByRole('group', { name: 'Namespaces' }).getByRole('option', { name: 'shop / eu' }).click();
    await page.getByRole('heading', { name: 'eu' }).waitFor();
    await page.keyboard.press('Control+k');
    await palette().waitFor();
    await page.keyboard.type('nodes');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Nodes', level: 1 }).waitFor();
  });

  test('says when nothing is found', async () => {
    const { page } = browser;
    await page.keyboard.press('Control+k');
    await palette().waitFor();
    await page.keyboard.type('no such thing');
    await page.getByText('Nothing found. Try a part of a name.').waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await palette().waitFor({ state: 'detached' });
  });

  test('a question mark lists the shortcuts, and so does the palette', async () => {
    const { page } = browser;
    const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await page.keyboard.press('?');
    await list.waitFor();
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await palette().waitFor();
    await page.keyboard.type('shortcuts');
    await page.keyboard.press('Enter');
    await list.waitFor();
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'detached' });
  });

  test('a key that follows Escape at once is not lost', async () => {
    const { page } = browser;
    const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    for (let round = 0; round < 10; round += 1) {
      await page.keyboard.press('?');
      await list.waitFor();
      await Promise.all([page.keyboard.press('Escape'), page.keyboard.press('/')]);
      await palette().waitFor();
      await Promise.all([page.keyboard.press('Escape'), page.keyboard.press('?')]);
      await list.waitFor();
      await page.keyboard.press('Escape');
      await list.waitFor({ state: 'detached' });
    }
  });

  test('keys that are typed into a field open nothing', async () => {
    const { page } = browser;
    await page.goto(`${server.url}/ui/#/`);
    await page.getByLabel('Search tables by name').fill('');
    await page.keyboard.type('a/b?');
    await becomes(async () => page.getByLabel('Search tables by name').inputValue(), 'a/b?');
    assert.equal(await page.getByRole('dialog').count(), 0);
  });

  test('nothing in the page complained', () => {
    assert.deepEqual(browser.complaints, []);
  });
});
