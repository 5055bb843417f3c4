import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { sampleStream } from '../../support/arrow-tables.ts';
import { noBrowser } from '../../support/browser.ts';
import type { Browser } from '../../support/browser.ts';
import { Client } from '../../support/client.ts';
import { openConsole } from '../../support/console-page.ts';
import { becomes, whenSettled } from '../../support/page-state.ts';
import { ADMIN_KEY, startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

const run = promisify(execFile);

let server: TestServer;
let browser: Browser;

suite('copy as code', { skip: noBrowser }, () => {
  before(async () => {
    server = await startServer({ flags: ['--maintenance-running-max=0'] });
    await new Client(server.url).arrow('/v1/table/items/create', sampleStream(30));
    browser = await openConsole();
    await browser.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  const open = async (address: string): Promise<void> => {
    await browser.page.goto('about:blank');
    await browser.page.goto(`${server.url}/ui/#/${address}`);
  };
  const copied = async (): Promise<string> => {
    const dialog = browser.page.getByRole('dialog', { name: 'Copy as code' });
    await dialog.waitFor();
    await whenSettled(browser.page);
    const code = (await dialog.locator('pre').textContent()) ?? '';
    await dialog.getByRole('button', { name: 'Copy', exact: true }).click();
    await browser.page.getByText('Copied.').first().waitFor();
    // The note may be that of an earlier copy.
    await becomes(async () => browser.page.evaluate<string>('navigator.clipboard.readText()'), code);
    return code;
  };
  const runCurl = async (code: string): Promise<any> => {
    const { stdout } = await run('bash', ['-c', code], { env: { ...process.env, TILTYARD_KEY: ADMIN_KEY } });
    return JSON.parse(stdout);
  };

  test('the curl of a query in the lab finds the rows that the lab shows', async () => {
    const { page } = browser;
    await open(
      'lab/items?search=vector&source=row&like=id+%3D+7&exact=1&columns=id&k=4&filter=name+%3C%3E+%27it%27%27s%27',
    );
    const grid = page.getByRole('grid', { name: 'Results' });
    await grid.waitFor();
    const shown = await grid.locator('tbody tr td:nth-child(2)').allInnerTexts();
    await page.getByRole('button', { name: 'Copy as code' }).click();
    const code = await copied();
    assert.ok(!code.includes(ADMIN_KEY));
    const { rows } = await runCurl(code);
    assert.deepEqual(
      rows.map(({ id }: { id: number }) => String(id)),
      shown,
    );
    assert.equal(shown[0], '7');
  });

  test('Python and TypeScript are a click away, and the choice is kept', async () => {
    const { page } = browser;
    await open('lab/items?columns=id&k=3');
    await page.getByRole('button', { name: 'Copy as code' }).click();
    const dialog = page.getByRole('dialog', { name: 'Copy as code' });
    await dialog.getByText('Python', { exact: true }).click();
    assert.match(await copied(), /import lancedb[\s\S]*os\.environ\["TILTYARD_KEY"\]/);
    await dialog.getByText('TypeScript', { exact: true }).click();
    assert.match(await copied(), /process\.env\.TILTYARD_KEY/);
    await page.reload();
    await page.getByRole('button', { name: 'Copy as code' }).click();
    await dialog.getByText('openTable').waitFor();
    await dialog.getByText('curl', { exact: true }).click();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  test('the filter of the rows is copied with its order', async () => {
    const { page } = browser;
    await open('table/items?filter=id+%3E+25&sort=price&order=desc');
    await page.getByRole('grid').waitFor();
    await page.getByRole('button', { name: 'Copy as code' }).click();
    const { rows } = await runCurl(await copied());
    assert.deepEqual(
      rows.map(({ id }: { id: number }) => id),
      [29, 28, 27, 26],
    );
  });

  test('the code of an update and of a delete changes the rows', async () => {
    const { page } = browser;
    await open('change/items?set=price:price+%2B+1000&where=id+%3D+3');
    await page.getByRole('button', { name: 'Copy as code' }).click();
    assert.equal((await runCurl(await copied())).updated_rows, 1);
    await open('change/items?kind=delete&where=price+%3E+1000');
    await page.getByRole('button', { name: 'Copy as code' }).click();
    assert.equal((await runCurl(await copied())).num_deleted_rows, 1);
  });

  test('the code of an index build builds the index', async () => {
    const { page } = browser;
    await open('table/items?tab=indexes');
    await page.getByRole('button', { name: /Build/ }).first().click();
    const form = page.getByRole('dialog', { name: 'Build an index' });
    await form.getByLabel('Column').selectOption('price');
    await form.getByLabel('Type').selectOption('BTREE');
    await form.getByRole('button', { name: 'Copy as code' }).click();
    const reply = await runCurl(await copied());
    assert.equal(reply.index_name, 'price_idx');
  });

  test('nothing in the page complained', () => assert.deepEqual(browser.complaints, []));
});
