import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { ended, itemsStream, wideStream } from '../contract/computed/computed-tables.ts';
import type { Item } from '../contract/computed/computed-tables.ts';
import { ok } from '../support/client.ts';
import type { Client } from '../support/client.ts';
import { NO_CLUSTERS } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { startThreeNodes } from './three-nodes.ts';
import type { ThreeNodes } from './three-nodes.ts';

const WIDE_ROWS = 400;
const TWICE = { new_columns: [{ name: 'twice', computed: 'id * 2' }] };

suite('computed columns and views on three nodes', { skip: NO_CLUSTERS }, () => {
  let nodes: ThreeNodes;
  let cluster: ThreeNodes['cluster'];
  let clients: ThreeNodes['clients'];
  before(async () => {
    const schedule = ['--views-poll-seconds=1', '--views-interval-seconds-min=1'];
    nodes = await startThreeNodes('--engine-backfill-bytes=64KiB', ...schedule);
    ({ cluster, clients } = nodes);
  });
  after(async () => nodes.close());

  async function countAt(client: Client, name: string, predicate?: string): Promise<number> {
    return ok(await client.post(`/v1/table/${name}/count_rows`, predicate === undefined ? {} : { predicate }));
  }

  /** What each node counts. */
  async function counts(name: string, predicate?: string): Promise<readonly number[]> {
    const found: number[] = [];
    for (const client of clients) found.push(await countAt(client, name, predicate));
    return found;
  }

  /** Created through the first node, which owns it from its first write on. */
  async function createItems(name: string, items: readonly Item[]): Promise<void> {
    const [owner] = clients;
    ok(await owner.arrow(`/v1/table/${name}/create`, itemsStream(items)));
    ok(await owner.arrow(`/v1/table/${name}/insert`, itemsStream([[0, 0, 0]])));
  }

  async function createView(name: string, query: string, fields: object = {}): Promise<void> {
    const body = { kind: 'query', source_query: query, ...fields };
    ok(await clients[0].post(`/v1/materialized_view/${name}/create`, body), 201);
  }

  async function done(client: Client, jobId: string): Promise<any> {
    const job = await ended(client, jobId);
    assert.equal(job.job_state, 'DONE', JSON.stringify(job));
    return job.result;
  }

  async function refresh(client: Client, name: string): Promise<any> {
    return done(client, ok(await client.post(`/v1/materialized_view/${name}/refresh`, {}), 202).job_id);
  }

  test('rows that are written through any node have computed values', async () => {
    await createItems('computed', [[1, 1, 1]]);
    ok(await clients[1].post('/v1/table/computed/add_columns', TWICE));
    for (const [index, client] of clients.entries()) {
      ok(await client.arrow('/v1/table/computed/insert', itemsStream([[10 + index, 1, 1]])));
      ok(await client.post('/v1/table/computed/update', { updates: [['id', 'id + 100']], predicate: 'id >= 10' }));
    }
    assert.deepEqual(await counts('computed', 'twice = id * 2'), [3, 3, 3]);
  });

  test('a backfill through any node is a job that all nodes know', async () => {
    await createItems('filled', [
      [1, 1, 1],
      [2, 2, 2],
    ]);
    ok(await clients[1].post('/v1/table/filled/add_columns', TWICE));
    const { job_id: id } = ok(await clients[2].post('/v1/table/filled/backfill_column', { column: 'twice' }), 202);
    for (const client of clients) assert.equal((await done(client, id)).rows_filled, 3);
    assert.deepEqual(await counts('filled', 'twice = id * 2'), [3, 3, 3]);
  });

  test('a backfill whose node is killed continues on another with the remaining rows', async () => {
    const [owner, next] = clients;
    ok(await owner.arrow('/v1/table/wide/create', wideStream(WIDE_ROWS)));
    ok(await owner.post('/v1/table/wide/add_columns', TWICE));
    const { job_id: id } = ok(await owner.post('/v1/table/wide/backfill_column', { column: 'twice' }), 202);
    await eventually(async () => (await countAt(next, 'wide', 'twice IS NOT NULL')) > 0);
    await cluster.node(0).kill();
    const { rows_filled: filled } = await done(next, id);
    await cluster.node(0).start();
    assert.ok(filled < WIDE_ROWS, 'it began anew');
    assert.deepEqual(await counts('wide', 'twice = id * 2'), [WIDE_ROWS, WIDE_ROWS, WIDE_ROWS]);
  });

  test('a view is refreshed through any node, and all nodes see the same rows', async () => {
    await createItems('source', [
      [1, 1, 1],
      [2, 2, 2],
    ]);
    await createView('view', 'SELECT id, price * 2 AS twice FROM source WHERE id > 0');
    assert.deepEqual([(await refresh(clients[1], 'view')).how, await counts('view')], ['rebuilt', [2, 2, 2]]);
    ok(await clients[2].arrow('/v1/table/source/insert', itemsStream([[3, 3, 3]])));
    assert.deepEqual([(await refresh(clients[2], 'view')).how, await counts('view')], ['appended', [3, 3, 3]]);
    ok(await clients[1].post('/v1/table/source/delete', { predicate: 'id = 1' }));
    assert.deepEqual([(await refresh(clients[0], 'view')).how, await counts('view')], ['rebuilt', [2, 2, 2]]);
    assert.equal((await refresh(clients[1], 'view')).how, 'unchanged');
  });

  test('a refresh whose node is killed continues on another, and is applied once', async () => {
    await createItems('cut', [
      [1, 1, 1],
      [2, 2, 2],
    ]);
    await createView('cut-view', 'SELECT id FROM cut');
    await refresh(clients[0], 'cut-view');
    ok(await clients[0].arrow('/v1/table/cut/insert', itemsStream([[3, 3, 3]])));
    const held = cluster.store.faults.hold({ method: 'PUT', path: /cut-view-.*_versions\/\d{20}\.manifest$/ });
    const { job_id: id } = ok(await clients[0].post('/v1/materialized_view/cut-view/refresh', {}), 202);
    await held.reached;
    await cluster.node(0).kill();
    const { how } = await done(clients[1], id);
    // What the killed node had sent arrives late.
    held.release();
    await cluster.node(0).start();
    assert.equal(how, 'appended');
    assert.deepEqual(await counts('cut-view'), [4, 4, 4]);
    assert.equal((await refresh(clients[2], 'cut-view')).how, 'unchanged');
  });

  test('automatic refreshes of a view continue when the node that wrote it is killed', async () => {
    await createItems('watched', [[1, 1, 1]]);
    await createView('watcher', 'SELECT id FROM watched', { auto_refresh: true });
    await createView('clock', 'SELECT id FROM watched', { refresh_seconds: 1 });
    for (const view of ['watcher', 'clock']) await eventually(async () => (await countAt(clients[1], view)) === 2);
    await cluster.node(0).kill();
    ok(await clients[1].arrow('/v1/table/watched/insert', itemsStream([[2, 2, 2]])));
    for (const view of ['watcher', 'clock']) await eventually(async () => (await countAt(clients[2], view)) === 3);
    await cluster.node(0).start();
    for (const view of ['watcher', 'clock']) assert.deepEqual(await counts(view), [3, 3, 3]);
  });
});
