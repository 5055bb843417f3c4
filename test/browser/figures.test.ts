import assert from 'node:assert/strict';
import test from 'node:test';
import { noBrowser, openBrowser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { fillShop, signIn } from '../support/console.ts';
import { startServer } from '../support/server.ts';

const SCRIPT_BYTES_MAX = 300_000;
const CLICKS = 10;

/** Run in the page, where the clock and the drawing are. */
const FIRST_PAINT = `performance.getEntriesByType('paint').find((entry) => entry.name === 'first-contentful-paint')?.startTime`;
const SCRIPT_BYTES = `performance.getEntriesByType('resource')
  .filter((entry) => entry.name.endsWith('.js'))
  .reduce((sum, entry) => sum + entry.encodedBodySize, 0)`;
/** From a click on a namespace in the tree to the frame in which its tables stand. */
const TREE_CLICK = `new Promise((resolve) => {
  const rows = () => document.querySelectorAll('[role=treeitem]').length;
  const before = rows();
  const start = performance.now();
  const look = () => (rows() > before ? requestAnimationFrame(() => resolve(performance.now() - start)) : requestAnimationFrame(look));
  [...document.querySelectorAll('[role=treeitem]')].find((row) => row.textContent === 'shop').querySelector('.arrow').click();
  look();
})`;

/** From a click on a tab of a table to the frame in which it is the current one and its content stands. */
const TAB_CLICK = (tab: string, sign: string): string => `new Promise((resolve) => {
  const start = performance.now();
  const look = () => (document.querySelector(${JSON.stringify(sign)}) === null
    ? requestAnimationFrame(look)
    : requestAnimationFrame(() => resolve(performance.now() - start)));
  [...document.querySelectorAll('.tabs a')].find((link) => link.textContent === '${tab}').click();
  look();
})`;
const TABS = [
  ['Schema', '.schema'],
  ['Versions', '.timeline li'],
  ['Rows', '[role=gridcell]'],
] as const;

test('the first view needs at most 300 kB of compressed script', { skip: noBrowser }, async (t) => {
  const server = await startServer();
  t.after(async () => server.close());
  await fillShop(new Client(server.url));
  const browser = await openBrowser();
  t.after(async () => browser.close());
  const { page } = browser;
  await signIn(page, server.url);
  await page.reload();
  await page.getByRole('treeitem', { name: 'shop' }).waitFor();
  const paint = Number(await (await page.waitForFunction(FIRST_PAINT)).jsonValue());
  const bytes = Number(await page.evaluate(SCRIPT_BYTES));
  const clicks: number[] = [];
  for (let count = 0; count < CLICKS; count += 1) {
    await page.reload();
    await page.getByRole('treeitem', { name: 'shop' }).waitFor();
    clicks.push(Number(await page.evaluate(TREE_CLICK)));
  }
  await page.goto(`${server.url}/ui/#/table/shop/products`);
  await page.getByRole('grid').waitFor();
  const switches: string[] = [];
  for (const [tab, sign] of TABS) {
    const milliseconds = Number(await page.evaluate(TAB_CLICK(tab, sign)));
    switches.push(`${tab} ${milliseconds.toFixed(0)} ms`);
  }
  clicks.sort((one, other) => one - other);
  t.diagnostic(`first paint ${Math.round(paint)} ms`);
  t.diagnostic(`script of the first view ${(bytes / 1000).toFixed(1)} kB compressed`);
  t.diagnostic(`tree click ${(clicks[CLICKS / 2] ?? 0).toFixed(0)} ms, at worst ${(clicks.at(-1) ?? 0).toFixed(0)} ms`);
  t.diagnostic(`tab switch: ${switches.join(', ')}`);
  assert.ok(bytes > 0 && bytes <= SCRIPT_BYTES_MAX, `${bytes} bytes`);
});
