import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../support/arrow-tables.ts';
import { noBrowser } from '../support/browser.ts';
import type { Browser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { takePicture } from '../support/console.ts';
import { openConsole } from '../support/console-page.ts';
import { eventually } from '../support/eventually.ts';
import { startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

let server: TestServer;
let browser: Browser;
let client: Client;

/** Its analysis runs in the background, and the list tells when it has ended. */
async function whenAnalysed(requestId: string): Promise<void> {
  for (;;) {
    const { json } = await client.post('/v1/slow_queries/list', {});
    const found = json.slow_queries.find((each: { request_id: string }) => each.request_id === requestId);
    if (found?.analysis_state !== 'running') return;
  }
}

suite('activity', { skip: noBrowser }, () => {
  before(async () => {
    // Every query counts as slow.
    server = await startServer({ flags: ['--log-slow-query-seconds=0.000001'] });
    client = new Client(server.url);
    await client.arrow('/v1/table/items/create', sampleStream(300));
    await client.post('/v1/table/items/create_index', { column: 'id', index_type: 'BTREE' });
    browser = await openConsole();
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  const chart = (title: string) =>
    browser.page.locator('figure', { has: browser.page.getByRole('heading', { name: title }) });

  test('requests show up in the charts while they come, commits and jobs below', async () => {
    const { page } = browser;
    await page.goto(`${server.url}/ui/#/activity`);
    await chart('Requests').waitFor();
    let isOver = false;
    const work = (async () => {
      for (let round = 0; !isOver; round += 1) {
        await client.post('/v1/table/items/count_rows', {});
        if (round % 10 === 0) await client.post('/v1/table/items/count_rows', { predicate: 'nothing = 1' });
        if (round % 20 === 0) await client.post('/v1/table/items/update', { updates: [['price', 'price + 1']] });
      }
    })();
    await chart('Requests')
      .getByText(/^(?:[1-9]|0\.[1-9])[\d,.]*\/s$/)
      .first()
      .waitFor();
    await chart('Latency')
      .getByText(/^[\d.]+ (?:µs|ms)$/)
      .first()
      .waitFor();
    if (process.env['TILTYARD_PICTURES'] === '1') await page.waitForTimeout(20_000);
    await takePicture(page, 'activity');
    isOver = true;
    await work;
    const commits = page.getByRole('region', { name: 'Changes' });
    await commits
      .getByText(/update table/)
      .first()
      .waitFor();
    await page.getByRole('region', { name: 'Jobs' }).getByText('items').first().waitFor();
  });

  test('a slow query shows its caller and shape, opens its analysis, and links to the lab if it can be run again', async () => {
    const { page } = browser;
    const headers = (id: string): Record<string, string> => ({ 'x-request-id': id });
    const order = [{ column_name: 'price', ascending: false }];
    await client.post('/v1/table/items/query', { k: 5, order_by: order }, headers('whole'));
    await whenAnalysed('whole');
    await client.post('/v1/table/items/query', { k: 5, filter: 'id > 17' }, headers('masked'));
    await whenAnalysed('masked');
    await page.reload();
    const list = page.getByRole('region', { name: 'Slow queries' });
    const masked = list.getByRole('row', { name: /id > \?/ });
    assert.match(await masked.innerText(), /items.*\d (?:ms|µs|s)/s);
    assert.equal(await masked.getByRole('link', { name: 'Open in the lab' }).count(), 0);
    const whole = list.getByRole('row', { name: /price DESC/ });
    await whole.getByRole('button', { name: /^Plan of the query of items/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Query of items' });
    await dialog.getByRole('tree', { name: 'Plan' }).waitFor();
    assert.ok((await dialog.getByRole('treeitem').count()) > 1);
    await takePicture(page, 'slow-query');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await whole.getByRole('link', { name: 'Open in the lab' }).click();
    await page.getByRole('tree', { name: 'Plan' }).waitFor();
    assert.equal(await page.getByLabel('Order by').inputValue(), 'price DESC');
    await page.goBack();
    await chart('Requests').waitFor();
  });

  test('the charts keep what they measured when the page is loaded again', async () => {
    const { page } = browser;
    const path = chart('Memory').locator('path.line');
    await page.waitForFunction(
      `document.querySelector('figure:last-of-type path.line').getAttribute('d').includes('L')`,
    );
    await page.waitForFunction(`JSON.parse(sessionStorage.getItem('tiltyard-activity')).points.length > 1`);
    await page.route('**/metrics', async () => new Promise<void>(() => {}));
    await page.reload();
    await chart('Memory').waitFor();
    assert.match((await path.getAttribute('d')) ?? '', /^M.*L/);
    await page.unroute('**/metrics');
  });

  test('the same figures can be read as a table', async () => {
    const { page } = browser;
    await page.getByRole('button', { name: 'Show as table' }).click();
    await page.getByRole('row', { name: /^Requests: succeeded/ }).waitFor();
    await page.getByRole('button', { name: 'Show as table' }).click();
  });

  test('it asks every two seconds, and paused for nothing more', async () => {
    const { page } = browser;
    let asked = 0;
    page.on('request', (request) => (asked += request.url().endsWith('/metrics') ? 1 : 0));
    await page.clock.install();
    await page.reload();
    await chart('Requests').waitFor();
    await page.clock.runFor(6000);
    await eventually(
      async () => asked >= 4,
      () => `asked ${asked} times`,
    );
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused').waitFor();
    const before = asked;
    await page.clock.runFor(20_000);
    assert.equal(asked, before);
  });

  test('a caller who may not see the figures is informed, and sees the rest', async () => {
    const grants = [{ role: 'reader', database: 'default' }];
    const { json } = await client.post('/v1/access/key/create', { name: 'visitor', grants });
    const other = await openConsole(json.key);
    try {
      await other.page.goto(`${server.url}/ui/#/activity`);
      await other.page.getByText(/Charts are shown to server administrators/).waitFor();
      await other.page
        .getByRole('region', { name: 'Changes' })
        .getByText(/update table/)
        .first()
        .waitFor();
      assert.equal(await other.page.getByRole('region', { name: 'Slow queries' }).count(), 0);
    } finally {
      await other.close();
    }
  });

  test('nothing in the page complained', () => {
    assert.deepEqual(browser.complaints, []);
  });
});
