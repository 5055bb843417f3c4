import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../support/arrow-tables.ts';
import { Client } from '../support/client.ts';
import { Cluster, NO_CLUSTERS } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import type { HeldRequest } from '../support/s3/store-faults.ts';

const ASYNC = { prefer: 'respond-async' };
const BUILD = { column: 'id', index_type: 'BTREE' };

suite('jobs of two nodes', { skip: NO_CLUSTERS }, () => {
  let folder: string;
  let cluster: Cluster;
  let a: Client;
  let b: Client;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tiltyard-jobs-'));
    const flags = ['--jobs-running-max=1', '--maintenance-running-max=0'];
    cluster = await Cluster.start({ folder, nodes: 2, flags });
    [a, b] = [new Client(cluster.node(0).url), new Client(cluster.node(1).url)];
  });
  after(async () => {
    await cluster.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function createTable(name: string): Promise<string> {
    const created = await a.arrow(`/v1/table/${name}/create`, sampleStream(20));
    assert.equal(created.status, 200, created.text);
    return `/v1/table/${name}`;
  }

  /** The first request through `client` makes its node the owner of the table. */
  async function startBuild(client: Client, table: string): Promise<string> {
    const { status, json, text } = await client.post(`${table}/create_index`, BUILD, ASYNC);
    assert.equal(status, 202, text);
    return json.job_id;
  }

  /** Its build has written all but the files of the index. */
  async function startHeldBuild(client: Client, table: string): Promise<{ id: string; held: HeldRequest }> {
    const held = cluster.store.faults.hold({ method: 'PUT', path: /\/_indices\// });
    const id = await startBuild(client, table);
    await held.reached;
    return { id, held };
  }

  async function describe(client: Client, id: string): Promise<any> {
    const { status, json, text } = await client.post('/v1/jobs/describe', { job_id: id });
    assert.equal(status, 200, text);
    const { context: _headers, ...job } = json;
    return job;
  }

  async function whenOver(client: Client, id: string): Promise<any> {
    await eventually(async () => (await describe(client, id)).job_state !== 'IN_PROGRESS');
    return describe(client, id);
  }

  async function list(client: Client): Promise<readonly { readonly job_id: string; readonly state: string }[]> {
    return (await client.post('/v1/jobs/list', {})).json.jobs;
  }

  async function indexesOf(client: Client, table: string): Promise<readonly string[]> {
    const { json } = await client.post(`${table}/index/list`, {});
    return json.indexes.map(({ index_name: name }: { index_name: string }) => name);
  }

  test('both nodes describe and list a build while it runs, and return its result', async () => {
    const table = await createTable('described');
    const { id, held } = await startHeldBuild(a, table);
    for (const client of [a, b]) {
      await eventually(async () => {
        const job = await describe(client, id);
        assert.deepEqual([job.table, job.spec.index_name], ['described', 'id_idx']);
        const listed = (await list(client)).find(({ job_id }) => job_id === id);
        // A busy machine may delay the heartbeat of the node: until the next one, the job counts as lost.
        return job.phase === 'building' && job.job_state === 'IN_PROGRESS' && listed?.state === 'IN_PROGRESS';
      });
    }
    held.release();
    const ended = await whenOver(b, id);
    assert.equal(ended.job_state, 'DONE', JSON.stringify(ended));
    assert.deepEqual(await describe(a, id), ended);
    for (const client of [a, b]) assert.deepEqual(await indexesOf(client, table), ['id_idx']);
    assert.deepEqual(await list(b), await list(a));
  });

  test('a build that was asked for through the other node is the same job for both, and is joined by a retry', async () => {
    const table = await createTable('forwarded');
    assert.equal((await a.arrow(`${table}/insert`, sampleStream(1))).status, 200);
    const held = cluster.store.faults.hold({ method: 'PUT', path: /\/_indices\// });
    const headers = { ...ASYNC, 'x-request-id': 'the-same-request' };
    const first = await b.post(`${table}/create_index`, BUILD, headers);
    await held.reached;
    const second = await a.post(`${table}/create_index`, BUILD, headers);
    assert.deepEqual([first.status, second.status], [202, 202]);
    assert.equal(second.json.job_id, first.json.job_id);
    held.release();
    assert.equal((await whenOver(b, first.json.job_id)).job_state, 'DONE');
  });

  test('both nodes return the result of a build as soon as its reply was sent', async () => {
    const table = await createTable('waited');
    const { status, json } = await a.post(`${table}/create_index`, BUILD);
    assert.equal(status, 200);
    const job = await describe(b, json.job_id);
    assert.deepEqual([job.job_state, job.result.version], ['DONE', json.version]);
    assert.deepEqual(await describe(a, json.job_id), job);
  });

  test('the version of maintenance is seen by both at once', async () => {
    const table = await createTable('maintained');
    for (let insert = 0; insert < 5; insert += 1) {
      assert.equal((await a.arrow(`${table}/insert`, sampleStream(1))).status, 200);
    }
    const { json, status, text } = await b.post(`${table}/maintenance/run`, {});
    assert.equal(status, 200, text);
    assert.ok(json.result.fragments_removed > 0, text);
    for (const client of [a, b]) {
      assert.equal((await client.post(`${table}/describe`, {})).json.version, json.result.version);
      assert.equal((await describe(client, json.job_id)).job_type, 'maintenance');
    }
  });

  test('a build that waits or has another phase ahead is cancelled through the other node', async () => {
    const [first, second] = [await createTable('cancelled'), await createTable('cancelled_too')];
    assert.equal((await a.arrow(`${first}/insert`, sampleStream(1))).status, 200);
    // The build opens the table behind this insert.
    const held = cluster.store.faults.hold({ method: 'PUT', path: /\/_versions\// });
    const insert = a.arrow(`${first}/insert`, sampleStream(1));
    await held.reached;
    const running = await startBuild(a, first);
    const waiting = await startBuild(a, second);
    await eventually(async () => (await describe(b, running)).phase === 'opening');
    for (const id of [running, waiting]) {
      const { json } = await b.post('/v1/jobs/cancel', { job_id: id });
      assert.deepEqual([json.job_id, json.cancel_requested], [id, true]);
    }
    assert.equal((await whenOver(a, waiting)).job_state, 'CANCELLED');
    await eventually(async () => (await describe(a, running)).cancel_requested);
    held.release();
    assert.equal((await insert).status, 200);
    for (const id of [running, waiting]) {
      assert.equal((await whenOver(b, id)).job_state, 'CANCELLED');
      assert.deepEqual(await describe(a, id), await describe(b, id));
    }
    for (const table of [first, second]) assert.deepEqual(await indexesOf(b, table), []);
  });

  test('a build that waits at a node whose table was taken over fails, and may be started again', async () => {
    const [busy, table] = [await createTable('busy'), await createTable('taken_over')];
    const { id: running, held } = await startHeldBuild(a, busy);
    const waiting = await startBuild(a, table);
    cluster.node(0).pause();
    // Until the lease of the other node has ended, writes are sent to it and get no reply.
    await eventually(async () => (await b.arrow(`${table}/insert`, sampleStream(1))).status === 200);
    const lost = await describe(b, waiting);
    assert.deepEqual([lost.job_state, lost.failure.retryable], ['FAILED', true]);
    assert.match(lost.failure.message, /^The node that ran the job stopped/);
    cluster.node(0).resume();
    await eventually(async () => (await describe(b, running)).job_state === 'IN_PROGRESS');
    held.release();
    assert.equal((await whenOver(a, running)).job_state, 'DONE');
    for (const client of [a, b]) {
      const job = await whenOver(client, waiting);
      assert.deepEqual([job.job_state, job.failure.retryable], ['FAILED', true]);
      assert.match(job.failure.message, /^Another node took over the table/);
    }
    const { status, json } = await a.post(`${table}/create_index`, BUILD);
    assert.deepEqual([status, json.job_state], [200, 'DONE']);
  });

  test('a build whose node is killed has failed, and succeeds at the other one', async () => {
    const table = await createTable('killed');
    const { id, held } = await startHeldBuild(a, table);
    await cluster.node(0).kill();
    held.release();
    const job = await whenOver(b, id);
    assert.deepEqual([job.job_state, job.failure.retryable], ['FAILED', true]);
    assert.equal((await list(b)).find(({ job_id }) => job_id === id)?.state, 'FAILED');
    assert.deepEqual(await indexesOf(b, table), []);
    const cancelled = await b.post('/v1/jobs/cancel', { job_id: id });
    assert.equal(cancelled.json.job_state, 'FAILED');
    const again = await b.post(`${table}/create_index`, BUILD);
    assert.equal(again.status, 200, again.text);
    assert.deepEqual(await indexesOf(b, table), ['id_idx']);
    await cluster.node(0).start();
    assert.equal((await describe(a, id)).job_state, 'FAILED');
    assert.equal((await describe(a, again.json.job_id)).job_state, 'DONE');
  });

  test('a build continues while its node shuts down and the other one writes its table', async () => {
    const table = await createTable('drained');
    const { id, held } = await startHeldBuild(a, table);
    const drained = cluster.node(0).drain();
    await eventually(async () => (await b.arrow(`${table}/insert`, sampleStream(1))).status === 200);
    assert.equal((await describe(b, id)).job_state, 'IN_PROGRESS');
    held.release();
    assert.equal(await drained, 0);
    const job = await describe(b, id);
    assert.equal(job.job_state, 'DONE', JSON.stringify(job));
    assert.deepEqual(await indexesOf(b, table), ['id_idx']);
    assert.equal((await b.post(`${table}/count_rows`, {})).json, 21);
    await cluster.node(0).start();
  });

  test('ended jobs survive a restart of their node and of all nodes', async () => {
    const table = await createTable('restarted');
    const { json } = await b.post(`${table}/create_index`, BUILD);
    const job = await describe(b, json.job_id);
    assert.equal(await cluster.node(1).drain(), 0);
    assert.deepEqual(await describe(a, json.job_id), job);
    await cluster.node(0).kill();
    await cluster.node(1).start();
    assert.deepEqual(await describe(b, json.job_id), job);
    await cluster.node(0).start();
    assert.deepEqual(await describe(a, json.job_id), job);
  });
});
