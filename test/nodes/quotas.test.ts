import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../support/arrow-tables.ts';
import { Client, ok } from '../support/client.ts';
import type { Answer } from '../support/client.ts';
import { Cluster, NO_CLUSTERS } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { ShownMetrics } from '../support/metrics.ts';
import { ADMIN_KEY } from '../support/server.ts';

interface Holder {
  readonly principal: string;
  /** Of each node, with one key. */
  readonly clients: readonly [Client, Client];
}

suite('quotas at two nodes', { skip: NO_CLUSTERS }, () => {
  let folder: string;
  let cluster: Cluster;
  let admins: readonly [Client, Client];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tiltyard-quotas-'));
    cluster = await Cluster.start({ folder, nodes: 2, flags: ['--maintenance-running-max=0'] });
    admins = [new Client(cluster.node(0).url), new Client(cluster.node(1).url)];
  });
  after(async () => {
    await cluster.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function makeHolder(): Promise<Holder> {
    const grants = [{ role: 'owner', database: 'default' }];
    const { key, principal } = ok(await admins[0].post('/v1/access/key/create', { name: 'holder', grants }));
    return {
      principal,
      clients: [new Client(cluster.node(0).url, { key }), new Client(cluster.node(1).url, { key })],
    };
  }

  /** Created through the first node, which owns it from its first write on. */
  async function createOwned(name: string, client: Client = admins[0]): Promise<string> {
    const table = `/v1/table/${name}`;
    ok(await client.arrow(`${table}/create`, sampleStream(10)));
    ok(await client.arrow(`${table}/insert`, sampleStream(1)));
    return table;
  }

  const limit = async (client: Client, body: object): Promise<void> =>
    void ok(await client.post('/v1/access/quota/set', body));
  const update = async (client: Client, table: string): Promise<Answer> =>
    client.post(`${table}/update`, { updates: [['id', 'id + 1']] });

  test('a quota that one node has set, changed or removed holds from the next request to the other', async () => {
    const { principal, clients } = await makeHolder();
    const policy = async (): Promise<string | null> => {
      const answer = await clients[1].get('/v1/tables');
      ok(answer);
      return answer.headers.get('ratelimit-policy');
    };
    assert.equal(await policy(), null);
    await limit(admins[0], { principal, requests_per_second: 1000 });
    assert.equal(await policy(), '"caller";q=1000;w=1');
    await limit(admins[0], { principal, requests_per_second: 2000 });
    await limit(admins[0], { database: 'default', requests_per_second: 3000 });
    assert.equal(await policy(), '"caller";q=2000;w=1, "database";q=3000;w=1');
    ok(await admins[0].post('/v1/access/quota/remove', { principal }));
    ok(await admins[0].post('/v1/access/quota/remove', { database: 'default' }));
    assert.equal(await policy(), null);
  });

  test('a forwarded write takes from the rate of the node that it reached, and of no other', async () => {
    const { principal, clients } = await makeHolder();
    const table = await createOwned('rate');
    await limit(admins[0], { principal, requests_per_second: 1 });
    let isRefused = false;
    while (!isRefused) isRefused = (await clients[0].get('/v1/tables')).status === 503;
    const forwarded = await update(clients[1], table);
    ok(forwarded);
    assert.equal(forwarded.headers.get('ratelimit-policy'), '"caller";q=1;w=1');
    assert.equal(forwarded.headers.get('ratelimit'), '"caller";r=0;t=1');
  });

  test('a forwarded write is in flight at the node that it reached, and at no other', async () => {
    const { principal, clients } = await makeHolder();
    const table = await createOwned('slots');
    await limit(admins[0], { principal, concurrent_writes: 1 });
    const held = cluster.store.faults.hold({ method: 'PUT', path: /slots.*_versions/ });
    const own = update(clients[0], table);
    await held.reached;
    const refused = await update(clients[0], table);
    assert.equal(refused.status, 503);
    assert.match(refused.json.detail, /1 writes in progress/);
    // The owner of the table has a write of this caller in flight, and counts the forwarded one no second time.
    const sent = [update(clients[1], table), update(clients[1], table)];
    assert.equal((await Promise.race(sent)).status, 503);
    await eventually(async () => {
      const metrics = await ShownMetrics.read(cluster.node(0).url, ADMIN_KEY);
      return metrics.value('tiltyard_write_lanes_waiting') === 1;
    });
    held.release();
    ok(await own);
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    assert.deepEqual(
      statuses.toSorted((one, other) => one - other),
      [200, 503],
    );
    ok(await update(clients[0], table));
    ok(await update(clients[1], table));
  });

  test('sizes are those of all nodes, and a forwarded insert past a quota changes nothing', async () => {
    const { principal, clients } = await makeHolder();
    const table = await createOwned('sized', clients[0]);
    await limit(admins[1], { principal, rows: 20, tables: 2 });
    ok(await clients[1].arrow('/v1/table/second/create', sampleStream(5)));
    for (const client of [...clients, ...admins]) {
      const refused = await client.arrow(`${table}/insert`, sampleStream(5));
      assert.equal(refused.status, 403, refused.text);
      assert.match(refused.json.detail, /allows 20 rows: 16 are used, and this request adds 5/);
    }
    for (const client of clients) {
      assert.equal((await client.arrow('/v1/table/third/create', sampleStream(1))).status, 403);
      assert.equal(ok(await client.post(`${table}/count_rows`, {})), 11);
    }
    ok(await clients[1].arrow(`${table}/insert`, sampleStream(4)));
    for (const client of clients) {
      assert.deepEqual(ok(await client.post('/v1/access/usage', {})).usage.rows, 20);
      assert.equal((await client.arrow(`${table}/insert`, sampleStream(1))).status, 403);
    }
  });

  test('writes through both nodes at once leave the size of the table right', async () => {
    const { principal, clients } = await makeHolder();
    const table = await createOwned('together', clients[0]);
    await limit(admins[0], { principal, rows: 1000 });
    const usage = async (client: Client): Promise<number> => ok(await client.post('/v1/access/usage', {})).usage.rows;
    let isOver = false;
    // Reads of the usage measure tables too.
    const reader = async (): Promise<void> => {
      while (!isOver) await usage(clients[1]);
    };
    const reading = reader();
    const writers = clients.map(async (client) => {
      for (let turn = 0; turn < 8; turn += 1) ok(await client.arrow(`${table}/insert`, sampleStream(3)));
    });
    await Promise.all(writers);
    isOver = true;
    await reading;
    for (const client of clients) assert.equal(await usage(client), 11 + 2 * 8 * 3);
  });
});
