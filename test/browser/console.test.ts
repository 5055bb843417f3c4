import assert from 'node:assert/strict';
import test from 'node:test';
import { noBrowser, openBrowser } from '../support/browser.ts';
import { signIn } from '../support/console.ts';
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

test('a view that cannot be loaded says what to do', { skip: noBrowser }, async (t) => {
  const server = await startServer();
  t.after(async () => server.close());
  const browser = await openBrowser();
  t.after(async () => browser.close());
  const { page } = browser;
  await signIn(page, server.url);
  // As after an update: the server has the parts of another build.
  await page.route('**/ui/part-*', async (route) => route.fulfill({ status: 404 }));
  await page.getByRole('link', { name: 'Activity' }).click();
  const alert = page.getByRole('alert');
  await alert.getByText('This part of the console could not be loaded.').waitFor();
  await alert.getByText('The server is not reachable, or has been updated: load the page again.').waitFor();
  await page.keyboard.press('?');
  await page.locator('.toast').filter({ hasText: 'This part of the console could not be loaded.' }).waitFor();
  await page.unroute('**/ui/part-*');
  await alert.getByRole('button').click();
  await page.getByRole('heading', { name: 'Activity' }).waitFor();
});
