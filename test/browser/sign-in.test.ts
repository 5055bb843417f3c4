import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { noBrowser, openBrowser } from '../support/browser.ts';
import type { Browser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { signIn, signOut } from '../support/console.ts';
import { becomes } from '../support/page-state.ts';
import { ADMIN_KEY, startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

let server: TestServer;
let browser: Browser;

before(async () => {
  if (noBrowser !== false) return;
  server = await startServer();
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

test(
  'a key that is not known is refused with a clear sentence, and a right one lets in',
  { skip: noBrowser },
  async () => {
    const { page, complaints } = browser;
    await page.goto(`${server.url}/ui/`);
    await page.getByLabel('API key').fill('not-a-key-of-this-server-at-all');
    await page.getByRole('button', { name: 'Sign in' }).click();
    const refusal = await page.getByRole('alert').innerText();
    assert.match(refusal, /Unauth|not known|not valid/i);
    assert.match(refusal, /Request/);
    await page.getByLabel('API key').fill(ADMIN_KEY);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    // The refused sign-in is the browser's own note of a 401.
    assert.deepEqual(
      complaints.filter((complaint) => !complaint.includes('401')),
      [],
    );
  },
);

test('a key that no header can hold is refused like others, and nothing is sent', { skip: noBrowser }, async () => {
  const other = await openBrowser();
  const { page } = other;
  const sent: string[] = [];
  page.on('request', (request) => sent.push(new URL(request.url()).pathname));
  await page.goto(`${server.url}/ui/`);
  for (const key of ['ключ-ключ', 'ty_“quoted”', 'ty_two words', 'é']) {
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await becomes(async () => page.getByRole('alert').innerText(), /The API key is not valid\./);
    await page.reload();
  }
  await page.getByText('Token', { exact: true }).click();
  await page.getByLabel('Bearer token').fill('“token”');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await becomes(async () => page.getByRole('alert').innerText(), /The access token is not valid\./);
  assert.deepEqual(
    sent.filter((path) => path.startsWith('/v1/')),
    [],
  );
  await other.close();
});

test('who is signed in stays so when the page is loaded again, until signing out', { skip: noBrowser }, async () => {
  const { page } = browser;
  await page.reload();
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
  await signOut(page);
  await page.reload();
  await page.getByLabel('API key').waitFor();
});

test('a token of the server’s own endpoint lets in, and an altered one does not', { skip: noBrowser }, async () => {
  const { page } = browser;
  const client = new Client(server.url);
  const made = await client.post('/v1/access/client/create', {
    name: 'visitor',
    grants: [{ role: 'reader', database: 'default' }],
  });
  const reply = await fetch(`${server.url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: made.json.client_id,
      client_secret: made.json.client_secret,
    }),
  });
  const { access_token: token } = (await reply.json()) as { access_token: string };
  await page.getByText('Token', { exact: true }).click();
  await page.getByLabel('Bearer token').fill(`${token.slice(0, -8)}AAAAAAAA`);
  await page.getByRole('button', { name: 'Sign in' }).click();
  assert.match(await page.getByRole('alert').innerText(), /token/i);
  await page.getByLabel('Bearer token').fill(token);
  const [request] = await Promise.all([
    page.waitForRequest((each) => each.headers()['authorization'] === `Bearer ${token}`),
    page.getByRole('button', { name: 'Sign in' }).click(),
  ]);
  assert.equal(request.headers()['x-api-key'], undefined);
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
  await page.getByRole('heading', { name: 'default' }).waitFor();
  await signOut(page);
});

test('a database that is not there is refused at sign-in', { skip: noBrowser }, async () => {
  const { page } = browser;
  await page.getByLabel('API key').fill(ADMIN_KEY);
  await page.getByLabel('Database').fill('nowhere');
  await page.getByRole('button', { name: 'Sign in' }).click();
  assert.match(await page.getByRole('alert').innerText(), /nowhere/);
});

test('the theme goes from system to light to dark, and is remembered', { skip: noBrowser }, async () => {
  const { page } = browser;
  const theme = async (): Promise<string | null> => page.locator('html').getAttribute('data-theme');
  await becomes(theme, null);
  await page.getByRole('button', { name: /^Theme/ }).click();
  await becomes(theme, 'light');
  await page.getByRole('button', { name: /^Theme/ }).click();
  await becomes(theme, 'dark');
  await page.reload();
  await page.getByLabel('API key').waitFor();
  await becomes(theme, 'dark');
});

test(
  'a new tab is signed in by another one, no storage that outlives a tab has the key, and all sign out together',
  { skip: noBrowser },
  async () => {
    const { page } = browser;
    await signIn(page, server.url);
    const second = await page.context().newPage();
    await second.goto(`${server.url}/ui/#/activity`);
    await second.getByRole('heading', { name: 'Activity' }).waitFor();
    const kept = String(await second.evaluate('JSON.stringify(localStorage) + document.cookie'));
    assert.doesNotMatch(kept, new RegExp(ADMIN_KEY));
    await signOut(second);
    await page.getByLabel('API key').waitFor();
    await signIn(page, server.url);
    await second.getByRole('navigation', { name: 'Main' }).waitFor();
    await page.close();
    await second.reload();
    await second.getByRole('navigation', { name: 'Main' }).waitFor();
    await signOut(second);
    await second.reload();
    await second.getByLabel('API key').waitFor();
  },
);

test('who opens the form learns where keys are', { skip: noBrowser }, async () => {
  const page = await browser.page.context().newPage();
  await page.goto(`${server.url}/ui/`);
  await page.getByText('Where do I find a key?').click();
  await page.getByText('cat data/admin.key').waitFor();
});

test('a key that is revoked while it is used leads back to the form, which says so', { skip: noBrowser }, async () => {
  const page = await browser.page.context().newPage();
  const client = new Client(server.url);
  const grants = [{ role: 'reader', database: 'default' }];
  const { json } = await client.post('/v1/access/key/create', { name: 'visitor', grants });
  await page.goto(`${server.url}/ui/`);
  await page.getByLabel('API key').fill(json.key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'visitor' }).waitFor();
  await client.post('/v1/access/key/revoke', { key_id: json.id });
  await page.reload();
  await page.getByText(/Sign in again/).waitFor();
});
