import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import type { Answer, Client } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { ShownMetrics } from '../../support/metrics.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Int32, count, documentStream, streamOf, vectorType } from '../contract-tables.ts';
import { CODE, assertRefused, badRequest, forbidden, unauthenticated } from '../refusal.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start({ flags: ['--jobs-running-max=1', '--jobs-waiting-max=1'] });
  await server.namespace(['sales']);
});
after(async () => server.close());

const jobNotFound = { status: 404, code: CODE.jobNotFound };
const ASYNC = { prefer: 'respond-async' };

/** An index that takes some seconds. */
const LONG_BUILD = { column: 'vec', index_type: 'IVF_HNSW_SQ', num_partitions: 1, m: 64, ef_construction: 800 };

function longStream(rows = 1200): Uint8Array {
  const spread = (row: number, index: number): number => ((row * 7919 + index * 104_729) % 9973) / 9973;
  const vectors = count(rows).map((row) => count(32).map((index) => spread(row, index)));
  return streamOf({ id: { type: new Int32(), values: count(rows) }, vec: { type: vectorType(32), values: vectors } });
}

async function start(
  made: MadeTable,
  body: object,
  headers: Readonly<Record<string, string>> = ASYNC,
): Promise<Answer> {
  return server.admin.post(`${made.at}/create_index`, body, headers);
}

async function describe(id: string, client: Client = server.admin): Promise<Answer> {
  return client.post('/v1/jobs/describe', { job_id: id });
}

async function whenOver(id: string): Promise<any> {
  for (;;) {
    const { json, status, text } = await describe(id);
    assert.equal(status, 200, text);
    if (json.job_state !== 'IN_PROGRESS') return json;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

suite('a build that the caller does not wait for', () => {
  test('is answered with 202 and its job, writers continue, and the index exists in the end', async () => {
    const made = await server.table({ stream: longStream() });
    const answer = await start(made, LONG_BUILD);
    assert.equal(answer.status, 202, answer.text);
    assert.deepEqual([answer.json.index_name, answer.json.job_state], ['vec_idx', 'IN_PROGRESS']);

    let updates = 0;
    for (let state = 'IN_PROGRESS'; state === 'IN_PROGRESS' && updates < 200; updates += 1) {
      const body = { updates: [['id', `${-updates - 1}`]], predicate: `id = ${updates}` };
      const updated = await server.admin.post(`${made.at}/update`, body);
      assert.equal(updated.status, 200, updated.text);
      assert.equal(updated.json.updated_rows, 1);
      state = (await describe(answer.json.job_id)).json.job_state;
    }

    const job = await whenOver(answer.json.job_id);
    assert.equal(job.job_state, 'DONE', JSON.stringify(job));
    assert.ok(updates > 1, 'writers went on during the build');
    const { json } = await server.admin.post(`${made.at}/index/list`, {});
    assert.equal(json.indexes[0].num_indexed_rows + json.indexes[0].num_unindexed_rows, 1200);
    const table = await server.embedded(made);
    assert.equal(await table.countRows('id < 0'), updates);
    assert.equal(
      (
        await table
          .search(count(32).map(() => 0.5))
          .limit(5)
          .toArray()
      ).length,
      5,
    );
  });

  test('is described with its subject, its phase and its result', async () => {
    const made = await server.table({ stream: documentStream() });
    const { json } = await start(made, { column: 'id', index_type: 'BTREE' });
    const job = await whenOver(json.job_id);
    assert.deepEqual([job.job_id, job.job_type, job.table], [json.job_id, 'create_index', made.id]);
    assert.deepEqual(job.spec, { column: 'id', index_name: 'id_idx', index_type: 'BTREE' });
    assert.equal(job.result.version, 2);
    assert.match(job.result.transaction_id, /./);
    assert.ok(job.end_ms >= job.creation_ms);
  });

  test('that fails says why', async () => {
    const made = await server.table({ stream: documentStream() });
    const { json } = await start(made, { column: 'vec', index_type: 'IVF_PQ' });
    const job = await whenOver(json.job_id);
    assert.equal(job.job_state, 'FAILED');
    assert.match(job.failure.message, /256 vectors/);
    assert.deepEqual([job.failure.phase, job.failure.retryable], ['building', false]);
    assert.deepEqual((await server.admin.post(`${made.at}/index/list`, {})).json.indexes, []);
  });

  test('may be preferred with a longest wait, which a short build does not need', async () => {
    const made = await server.table({ stream: documentStream() });
    const prefer = { prefer: 'respond-async, wait=20' };
    assert.equal((await start(made, { column: 'id', index_type: 'BTREE' }, prefer)).status, 200);
  });

  test('sent again with the same request id while it runs is the same job, also with the name of the main branch', async () => {
    const made = await server.table({ stream: longStream() });
    const headers = { ...ASYNC, 'x-request-id': 'the-same-request' };
    const first = await start(made, LONG_BUILD, headers);
    const second = await start(made, { ...LONG_BUILD, branch: 'main' }, headers);
    assert.equal(second.json.job_id, first.json.job_id);
    await whenOver(first.json.job_id);
  });

  test('waits in the queue, can be cancelled there, and is refused beyond the bound', async () => {
    const [long, second, third] = await Promise.all([
      server.table({ stream: longStream() }),
      server.table({ stream: documentStream() }),
      server.table({ stream: documentStream() }),
    ]);
    const running = await start(long, LONG_BUILD);
    const waiting = await start(second, { column: 'id', index_type: 'BTREE' });
    assertRefused(await start(third, { column: 'id', index_type: 'BTREE' }), { status: 503, code: CODE.unavailable });
    assert.equal((await describe(waiting.json.job_id)).json.phase, 'waiting');

    const cancelled = await server.admin.post('/v1/jobs/cancel', { job_id: waiting.json.job_id });
    assert.equal(cancelled.json.job_state, 'CANCELLED');
    const asked = await server.admin.post('/v1/jobs/cancel', { job_id: running.json.job_id });
    assert.deepEqual([asked.json.job_state, asked.json.cancel_requested], ['IN_PROGRESS', true]);
    assert.equal((await whenOver(running.json.job_id)).job_state, 'DONE');
    assert.deepEqual((await server.admin.post(`${second.at}/index/list`, {})).json.indexes, []);
  });
});

suite('a job whose table is dropped meanwhile', () => {
  async function assertTableMissed(id: string): Promise<void> {
    const job = await whenOver(id);
    assert.equal(job.job_state, 'FAILED', JSON.stringify(job));
    assert.equal(job.failure.message, 'The table was dropped before the job finished.');
    assert.equal((await ShownMetrics.read(server.url, ADMIN_KEY)).value('tiltyard_background_failures_total'), 0);
  }

  test('says so, and is no failure of the service', async () => {
    const made = await server.table({ stream: longStream() });
    const answer = await start(made, LONG_BUILD);
    assert.equal(answer.status, 202, answer.text);
    const { location } = (await server.admin.post(`${made.at}/describe`, {})).json;
    assert.equal((await server.admin.post(`${made.at}/drop`, {})).status, 200);
    await assertTableMissed(answer.json.job_id);
    await eventually(async () => !existsSync(location));
  });

  test('says so when it had not begun, too', async () => {
    const [busy, made] = [await server.table({ stream: longStream() }), await server.table()];
    const first = await start(busy, LONG_BUILD);
    const answer = await server.admin.post(`${made.at}/maintenance/run`, {}, ASYNC);
    assert.equal(answer.status, 202, answer.text);
    assert.equal((await server.admin.post(`${made.at}/drop`, {})).status, 200);
    await assertTableMissed(answer.json.job_id);
    assert.equal((await whenOver(first.json.job_id)).job_state, 'DONE');
  });
});

suite('jobs/list', () => {
  test('lists the newest first, in pages', async () => {
    const made = await server.table({ stream: documentStream() });
    const ids: string[] = [];
    for (const column of ['id', 'title']) {
      const { json } = await server.admin.post(`${made.at}/create_index`, { column, index_type: 'BTREE' });
      ids.unshift(json.job_id);
    }
    const first = await server.admin.post('/v1/jobs/list', { limit: 1 });
    const second = await server.admin.post('/v1/jobs/list', { limit: 1, page_token: first.json.page_token });
    assert.deepEqual([first.json.jobs[0].job_id, second.json.jobs[0].job_id], ids);
    const { job_id: id, created_at_millis: createdAt, ...rest } = first.json.jobs[0];
    assert.deepEqual([typeof id, typeof createdAt], ['string', 'number']);
    assert.deepEqual(rest, { table: made.id, job_type: 'create_index', state: 'DONE' });
  });

  test('takes an empty body, and refuses a limit of 0', async () => {
    assert.equal((await server.admin.send('POST', '/v1/jobs/list', {})).status, 200);
    assertRefused(await server.admin.post('/v1/jobs/list', { limit: 0 }), badRequest(/limit/));
  });
});

suite('jobs are shown', () => {
  test('to readers of their table, and cancelled by its writers', async () => {
    const made = await server.table({ id: 'sales$orders', stream: documentStream() });
    const { json } = await server.admin.post(`${made.at}/create_index`, { column: 'id', index_type: 'BTREE' });
    const reader = await server.caller('reader', ['sales']);
    const other = await server.caller('owner', ['other']);
    const list = async (client: Client): Promise<readonly string[]> =>
      (await client.post('/v1/jobs/list', {})).json.jobs.map((job: { job_id: string }) => job.job_id);

    assert.deepEqual(await list(reader), [json.job_id]);
    assert.equal((await describe(json.job_id, reader)).status, 200);
    assertRefused(await reader.post('/v1/jobs/cancel', { job_id: json.job_id }), forbidden);

    assert.deepEqual(await list(other), []);
    assertRefused(await describe(json.job_id, other), jobNotFound);
    assertRefused(await other.post('/v1/jobs/cancel', { job_id: json.job_id }), jobNotFound);
  });

  test('not to callers of another database', async () => {
    const made = await server.table({ stream: documentStream() });
    const { json } = await server.admin.post(`${made.at}/create_index`, { column: 'id', index_type: 'BTREE' });
    const headers = { 'x-service-database': await server.database() };
    assertRefused(await server.admin.post('/v1/jobs/describe', { job_id: json.job_id }, headers), jobNotFound);
    assert.deepEqual((await server.admin.post('/v1/jobs/list', {}, headers)).json.jobs, []);
  });

  test('not to strangers, and not when they are not there', async () => {
    const stranger = server.client({ key: undefined });
    for (const path of ['list', 'describe', 'cancel']) {
      assertRefused(await stranger.post(`/v1/jobs/${path}`, { job_id: 'x' }), unauthenticated);
    }
    assertRefused(await describe('nowhere'), jobNotFound);
    assertRefused(await server.admin.post('/v1/jobs/cancel', { job_id: 'nowhere' }), jobNotFound);
    assertRefused(await server.admin.post('/v1/jobs/describe', {}), badRequest(/job_id/));
  });
});

suite('a table that is indexed', () => {
  test('can be overwritten meanwhile: the index is built on the new rows', async () => {
    const made = await server.table({ stream: longStream() });
    const { json } = await start(made, LONG_BUILD);
    const answer = await server.admin.arrow(`${made.at}/create?mode=overwrite`, longStream(500));
    assert.equal(answer.status, 200, answer.text);
    const job = await whenOver(json.job_id);
    assert.equal(job.job_state, 'DONE', JSON.stringify(job));
    const { json: list } = await server.admin.post(`${made.at}/index/list`, {});
    assert.deepEqual([list.indexes[0].num_indexed_rows, list.indexes[0].num_unindexed_rows], [500, 0]);
  });
});
