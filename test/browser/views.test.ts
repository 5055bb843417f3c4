import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { noBrowser } from '../support/browser.ts';
import type { Browser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { fillShop, takeScreenshot } from '../support/console.ts';
import { openConsole } from '../support/console-page.ts';
import { CONSOLE_VIEWS } from '../support/console-views.ts';
import { auditFocus, auditPage, auditStructure, findOverflow, findSmallTargets } from '../support/page-audit.ts';
import { becomes } from '../support/page-state.ts';
import { startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

const SCREENS = [
  { width: 390, height: 844 },
  { width: 768, height: 1024 },
  { width: 1440, height: 900 },
] as const;

let server: TestServer;
let browser: Browser;

suite('every view on a phone, a tablet and a desk', { skip: noBrowser }, () => {
  before(async () => {
    server = await startServer();
    await fillShop(new Client(server.url));
    browser = await openConsole();
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  const takePictures = async (name: string, width: number): Promise<void> => {
    const { page } = browser;
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await takeScreenshot(page, `${name}-${width}-${colorScheme}`);
    }
    await page.emulateMedia({ colorScheme: 'light' });
  };

  for (const [name, address, sign] of CONSOLE_VIEWS) {
    suite(name, () => {
      before(async () => browser.page.goto('about:blank'));

      test('nothing scrolls sideways but tables, no accessibility rule is broken, and fingers find their targets', async () => {
        const { page } = browser;
        for (const screen of SCREENS) {
          await page.setViewportSize(screen);
          await page.goto(`${server.url}/ui/#/${address}`);
          await page.locator(sign).first().waitFor();
          await takePictures(name, screen.width);
          assert.deepEqual(await findOverflow(page), [], `${screen.width} px`);
          if (screen !== SCREENS[0]) continue;
          assert.deepEqual(await auditStructure(page), [], `${screen.width} px`);
          assert.deepEqual(await findSmallTargets(page), []);
        }
        // On the desk, which comes last; a tablet has the parts of a phone and of a desk.
        assert.deepEqual(await auditPage(page), []);
      });

      test('the Tab key goes through all controls, and the focus is seen', async () => {
        const { unseen, stops } = await auditFocus(browser.page);
        assert.deepEqual(unseen, []);
        assert.ok(stops > 5, `${stops} stops of the Tab key`);
      });
    });
  }

  test('on a phone the navigation is a drawer, which Escape closes', async () => {
    const { page } = browser;
    await page.setViewportSize(SCREENS[0]);
    await page.goto(`${server.url}/ui/#/activity`);
    await page.getByRole('heading', { name: 'Activity' }).waitFor();
    const menu = page.getByRole('navigation', { name: 'Main' });
    await becomes(async () => menu.count(), 0);
    await page.getByRole('button', { name: 'Open the menu' }).click();
    await page.locator(':focus', { hasText: 'Tables' }).waitFor();
    await takeScreenshot(page, 'drawer-390-light');
    assert.deepEqual(await auditPage(page), []);
    await page.keyboard.press('Escape');
    await menu.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Open the menu' }).click();
    await menu.getByRole('link', { name: 'Access' }).click();
    await page.getByRole('heading', { name: 'Access' }).waitFor();
    await menu.waitFor({ state: 'hidden' });
  });

  test('on a phone the form of the lab folds when it is sent, and opens again', async () => {
    const { page } = browser;
    await page.setViewportSize(SCREENS[0]);
    await page.goto('about:blank');
    await page.goto(`${server.url}/ui/#/lab/shop/products`);
    const form = page.getByRole('form', { name: 'Query' });
    await page.getByRole('grid', { name: 'Results' }).waitFor();
    await form.getByRole('button', { name: 'Run' }).click();
    await form.getByRole('button', { name: 'Run' }).waitFor({ state: 'hidden' });
    await page.locator('.lab-outcome:focus').waitFor();
    await page.getByRole('grid', { name: 'Results' }).waitFor();
    await takeScreenshot(page, 'lab-after-run-390-light');
    await form.getByRole('button', { name: 'Edit' }).click();
    await form.getByRole('button', { name: 'Run' }).waitFor();
  });

  test('on a phone a dialog fits the screen', async () => {
    const { page } = browser;
    await page.setViewportSize(SCREENS[0]);
    await page.goto(`${server.url}/ui/#/access/keys`);
    await page.getByRole('button', { name: 'New key' }).click();
    const box = await page.getByRole('dialog').boundingBox();
    assert.ok(box !== null && box.x >= 0 && box.x + box.width <= 390 && box.y >= 0 && box.y + box.height <= 844.5);
    await takeScreenshot(page, 'dialog-390-light');
  });

  test('nothing in the page complained', () => {
    // The browser's note of the filter with a fault.
    assert.deepEqual(
      browser.complaints.filter((complaint) => !complaint.includes('400')),
      [],
    );
  });
});
