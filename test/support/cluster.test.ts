import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from './arrow-tables.ts';
import { Client } from './client.ts';
import { Cluster, NO_CLUSTERS } from './cluster.ts';

suite('a server on PostgreSQL and an object store', { skip: NO_CLUSTERS }, () => {
  let folder: string;
  let cluster: Cluster;
  let client: Client;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tiltyard-cluster-'));
    cluster = await Cluster.start({ folder, nodes: 1 });
    client = new Client(cluster.node(0).url);
    assert.equal((await client.arrow('/v1/table/items/create', sampleStream(3))).status, 200);
  });
  after(async () => {
    await cluster.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function insert(): Promise<number> {
    return (await client.arrow('/v1/table/items/insert', sampleStream(1))).status;
  }

  async function count(): Promise<number> {
    return (await client.post('/v1/table/items/count_rows', {})).json;
  }

  test('is served through the load balancer too', async () => {
    const balanced = new Client(cluster.balancer.url);
    assert.equal((await balanced.post('/v1/table/items/count_rows', {})).json, await count());
  });

  test('has what it acknowledged after it was killed and started again', async () => {
    const before = await count();
    assert.equal(await insert(), 200);
    await cluster.node(0).kill();
    await assert.rejects(insert());
    await cluster.node(0).start();
    assert.equal(await count(), before + 1);
    assert.equal(await insert(), 200);
  });

  test('answers after a pause', async () => {
    cluster.node(0).pause();
    const answer = insert();
    const isWaiting = await Promise.race([
      answer.then(() => false),
      new Promise((done) => setTimeout(done, 200, true)),
    ]);
    assert.ok(isWaiting);
    cluster.node(0).resume();
    assert.equal(await answer, 200);
  });

  test('serves again when PostgreSQL was restarted', async () => {
    const before = await count();
    await cluster.postgres.restart();
    let status = await insert();
    for (let tries = 0; status !== 200 && tries < 20; tries += 1) status = await insert();
    assert.equal(status, 200);
    assert.ok((await count()) > before);
  });

  test('ends in good order, and starts again', async () => {
    assert.equal(await cluster.node(0).drain(), 0);
    await cluster.node(0).start();
    assert.equal(await insert(), 200);
  });
});
