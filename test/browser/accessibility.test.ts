import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { noBrowser, openBrowser } from '../support/browser.ts';
import type { Browser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { fillShop } from '../support/console.ts';
import { openConsole } from '../support/console-page.ts';
import { PRODUCTS } from '../support/console-views.ts';
import { auditDrawings, auditPage } from '../support/page-audit.ts';
import { becomes, whenSettled } from '../support/page-state.ts';
import { ADMIN_KEY, startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

let server: TestServer;
let browser: Browser;

const DIALOG = 'dialog[open]';
const POPOVER = '.popover .panel';

/** Dialogs and panels, by the button that opens them. */
const PANELS: readonly (readonly [name: string, address: string, button: string, panel: string])[] = [
  ['a new namespace', '', 'New namespace', DIALOG],
  ['a new index', `${PRODUCTS}?tab=indexes`, 'Build an index', DIALOG],
  ['help on filters', PRODUCTS, 'Help on filters', POPOVER],
  ['the choice of a version', PRODUCTS, 'main · latest', POPOVER],
  [
    'metadata in place',
    `${PRODUCTS}?tab=schema`,
    'Add metadata to price',
    'tr:has([aria-label="Name of new metadata of price"])',
  ],
  ['a query as code', 'lab/shop/products?search=vector', 'Copy as code', DIALOG],
  ['saved and recent queries', 'lab/shop/products?search=vector', 'Queries', POPOVER],
  ['a new key', 'access', 'New key', DIALOG],
  ['a role', 'access/grants', 'Grant a role', DIALOG],
  ['the account', '', 'administrator', POPOVER],
  ['the palette', '', 'Search tables and actions', DIALOG],
];

suite('for those who use a keyboard or a screen reader, or see less well', { skip: noBrowser }, () => {
  before(async () => {
    server = await startServer();
    await fillShop(new Client(server.url));
    browser = await openConsole();
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  const open = async (address: string): Promise<void> => {
    await browser.page.goto('about:blank');
    await browser.page.goto(`${server.url}/ui/#/${address}`);
  };

  test('a plan: the text on a step is readable, whatever its share of the time', async () => {
    const { page } = browser;
    await open('lab/shop/products?search=vector&tab=plan&filter=price+%3E+5');
    await page.locator('.plan-node').first().waitFor();
    for (let heat = 0; heat <= 100; heat += 10) {
      await page.evaluate(`for (const node of document.querySelectorAll('.plan-node'))
        node.style.setProperty('--heat', '${heat}%');`);
      assert.deepEqual(await auditDrawings(page), [], `a share of ${heat}%`);
    }
  });

  for (const [name, address, button, panel] of PANELS) {
    test(`${name}: what a button opens breaks no accessibility rule`, async () => {
      const { page } = browser;
      await open(address);
      const opener = page.getByRole('button', { name: button }).first();
      await opener.waitFor();
      await whenSettled(page);
      await opener.click();
      await page.locator(panel).first().waitFor();
      assert.deepEqual(await auditPage(page, panel), []);
    });
  }

  test('the way from signing in through tree and grid into a dialog and back needs no pointer', async () => {
    const visitor = await openBrowser();
    const { page } = visitor;
    try {
      await page.goto(`${server.url}/ui/`);
      await page.getByLabel('API key').waitFor();
      assert.deepEqual(await auditPage(page), []);
      await page.keyboard.type(ADMIN_KEY);
      await page.keyboard.press('Enter');
      await page.getByRole('treeitem', { name: 'shop' }).waitFor();
      const tabTo = async (selector: string): Promise<void> => {
        for (let stops = 0; stops < 40; stops += 1) {
          await page.keyboard.press('Tab');
          if ((await page.locator(`${selector}:focus`).count()) > 0) return;
        }
        assert.fail(`the Tab key does not come to ${selector}`);
      };
      await tabTo('[role=tree]');
      const marked = page.locator('.tree .marked');
      while ((await marked.innerText()).trim() !== 'shop') await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowRight');
      await page.getByRole('treeitem', { name: 'products' }).waitFor();
      while ((await marked.innerText()).trim() !== 'products') await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.getByRole('grid').waitFor();
      await whenSettled(page);
      await tabTo('[role=gridcell]');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog', { name: 'title' });
      await dialog.waitFor();
      assert.deepEqual(await auditPage(page), []);
      for (let stops = 0; stops < 6; stops += 1) {
        await page.keyboard.press('Tab');
        await becomes(async () => page.locator('main :focus:not(dialog *)').count(), 0);
      }
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await page.locator('[data-cell="1:1"]:focus').waitFor();
    } finally {
      await visitor.close();
    }
  });

  test('the first stop of the Tab key leads past the navigation', async () => {
    const { page } = browser;
    await open('activity');
    await page.locator('figure').first().waitFor();
    await page.keyboard.press('Tab');
    await page.locator(':focus', { hasText: 'Skip to content' }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('#main:focus').waitFor();
  });
});
