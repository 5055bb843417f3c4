import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../support/arrow-tables.ts';
import { noBrowser } from '../support/browser.ts';
import type { Browser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { Cluster, NO_CLUSTERS } from '../support/cluster.ts';
import { openConsole } from '../support/console-page.ts';
import { eventually } from '../support/eventually.ts';
import { becomes } from '../support/page-state.ts';
import { startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

suite('the nodes of one server', { skip: noBrowser }, () => {
  let server: TestServer;
  let browser: Browser;
  before(async () => {
    server = await startServer();
    browser = await openConsole();
    await browser.page.goto(`${server.url}/ui/#/nodes`);
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  test('are this one, which serves alone and has taken nothing over', async () => {
    const { page } = browser;
    const row = page.getByRole('row', { name: /127\.0\.0\.1:\d+ this node/ });
    await row.getByText('alive').waitFor();
    await row.getByText('single node').waitFor();
    await page.getByRole('region', { name: 'Takeovers' }).getByText('No takeovers').waitFor();
    assert.equal(await page.getByRole('table').getByRole('row').count(), 2);
    await becomes(async () => page.title(), 'Nodes · Tiltyard');
  });

  test('are asked for again while the page is open, until it is paused', async () => {
    const { page } = browser;
    let asked = 0;
    page.on('request', (request) => (asked += request.url().endsWith('/v1/nodes/list') ? 1 : 0));
    await page.clock.install();
    await page.reload();
    await page.getByText('single node').waitFor();
    await page.clock.runFor(11_000);
    await eventually(
      async () => asked >= 3,
      () => `asked ${asked} times`,
    );
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused').waitFor();
    const before = asked;
    await page.clock.runFor(20_000);
    assert.equal(asked, before);
  });

  test('are only shown to administrators of the server, and others see why', async () => {
    const grants = [{ role: 'admin', database: 'default' }];
    const { json } = await new Client(server.url).post('/v1/access/key/create', { name: 'visitor', grants });
    const other = await openConsole(json.key);
    try {
      await other.page.goto(`${server.url}/ui/#/nodes`);
      await other.page.getByText(/Nodes are shown to server administrators/).waitFor();
      assert.equal(await other.page.getByRole('table').count(), 0);
    } finally {
      await other.close();
    }
  });

  test('nothing in the page complained', () => {
    assert.deepEqual(browser.complaints, []);
  });
});

suite('the nodes of a cluster', { skip: noBrowser === false ? NO_CLUSTERS : noBrowser }, () => {
  let folder: string;
  let cluster: Cluster;
  let browser: Browser;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tiltyard-console-nodes-'));
    cluster = await Cluster.start({ folder, nodes: 2 });
    const client = new Client(cluster.node(0).url);
    assert.equal((await client.arrow('/v1/table/items/create', sampleStream(3))).status, 200);
    assert.equal((await client.post('/v1/table/items/delete', { predicate: 'id = 0' })).status, 200);
    browser = await openConsole();
    await browser.page.goto(`${cluster.node(1).url}/ui/#/nodes`);
  });
  after(async () => {
    await browser.close();
    await cluster.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('are shown with their addresses and leases; after a crash, as silent, and the table as taken over', async () => {
    const { page } = browser;
    const [owner, other] = cluster.nodes.map(({ fromPeers }) =>
      page.getByRole('row').filter({ hasText: fromPeers.url }),
    );
    assert.ok(owner !== undefined && other !== undefined);
    await other.getByText('this node').waitFor();
    await becomes(async () => {
      const cells = await owner.getByRole('cell').allInnerTexts();
      return [cells[0], cells[3], cells[4]];
    }, ['alive', '1', '0']);
    await cluster.node(0).kill();
    const client = new Client(cluster.node(1).url);
    await eventually(async () => (await client.post('/v1/table/items/delete', { predicate: 'id = 1' })).status === 200);
    await owner.getByText('not responding').waitFor();
    await page
      .getByRole('region', { name: 'Takeovers' })
      .getByText(/default items from .+ by .+/)
      .waitFor();
  });
});
