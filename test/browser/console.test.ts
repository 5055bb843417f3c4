import assert from 'node:assert/strict';
import test from 'node:test';
import { noBrowser, openBrowser } from '../support/browser.ts';
import { ADMIN_KEY, startServer } from '../support/server.ts';

test('with a key one is let in, and nothing in the page complains', { skip: noBrowser }, async (t) => {
  const server = await startServer();
  t.after(async () => server.close());
  const browser = await openBrowser();
  t.after(async () => browser.close());
  const { page, complaints } = browser;
  await page.goto(`${server.url}/ui/`);
  await page.getByLabel('API key').fill(ADMIN_KEY);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
  assert.deepEqual(complaints, []);
});
