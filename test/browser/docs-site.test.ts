import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { buildSite } from '../docs/built-site.ts';
import type { BuiltSite } from '../docs/built-site.ts';
import { noBrowser, openBrowser } from '../support/browser.ts';
import type { Browser } from '../support/browser.ts';
import { becomes } from '../support/page-state.ts';

let site: BuiltSite;
let browser: Browser;

before(async () => {
  if (noBrowser !== false) return;
  site = await buildSite();
  browser = await openBrowser();
});

after(async () => {
  if (noBrowser !== false) return;
  await browser.close();
  await site.remove();
});

const open = async (address: string): Promise<void> => {
  await browser.page.goto(pathToFileURL(join(site.folder, address)).href);
};

test('the documentation is searched from the file system, and a result is followed', { skip: noBrowser }, async () => {
  const { page, complaints } = browser;
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  await open('index.html');
  await page.keyboard.press('/');
  await page.keyboard.type('chunkBytes');
  const first = page.getByRole('option').first();
  await first.filter({ hasText: 'arrow.chunkBytes' }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(/settings\.html#arrowchunkbytes$/);
  const row = page.locator('tr:target');
  assert.match(await row.innerText(), /TILTYARD_ARROW_CHUNK_BYTES/);
  assert.ok(await row.isVisible());
  assert.deepEqual(complaints, []);
  assert.deepEqual(
    asked.filter((url) => !url.startsWith('file:') && !url.startsWith('data:')),
    [],
  );
});

test('what is not in the documentation is not found, and says so', { skip: noBrowser }, async () => {
  const { page } = browser;
  await open('guides/loading.html');
  await page.getByRole('combobox').fill('xyzzyplugh');
  await page.getByText('Nothing found for').waitFor();
});

test('a list is filtered as one types', { skip: noBrowser }, async () => {
  const { page } = browser;
  await open('errors.html');
  await page.getByLabel('Filter the list').fill('413');
  const shown = page.locator('.long-table tbody tr:visible td:first-child');
  await becomes(async () => shown.allInnerTexts(), ['PayloadTooLarge']);
});

test('the theme follows the system until it is chosen, and the choice is kept', { skip: noBrowser }, async () => {
  const { page } = browser;
  const background = async (): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor');
  const becomes = async (color: string): Promise<unknown> =>
    page.waitForFunction(`getComputedStyle(document.body).backgroundColor === ${JSON.stringify(color)}`);
  await page.emulateMedia({ colorScheme: 'dark' });
  await open('start.html');
  const dark = await background();
  await page.getByRole('button', { name: 'Theme: system' }).click();
  const light = 'rgb(255, 255, 255)';
  await becomes(light);
  assert.notEqual(light, dark);
  await open('guides/access.html');
  await becomes(light);
  await page.getByRole('button', { name: 'Theme: light' }).click();
  await becomes(dark);
});

test('the first key leads past the menu to the text', { skip: noBrowser }, async () => {
  const { page } = browser;
  await open('start.html');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForURL(/start\.html#content$/);
  await page.waitForFunction('document.activeElement.id === "content"');
});

test('a narrow page shows its menu when asked, and is not wider than the screen', { skip: noBrowser }, async () => {
  const { page } = browser;
  await page.setViewportSize({ width: 390, height: 800 });
  for (const address of site.pages.keys()) {
    await open(address);
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    assert.ok(width <= 390, `${address} is too wide`);
  }
  await open('start.html');
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('link', { name: 'Settings', exact: true }).click();
  await page.waitForURL(/settings\.html$/);
});
