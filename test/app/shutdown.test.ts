import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { Int32, count, streamOf, vectorType } from '../contract/contract-tables.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { startServerProcess } from '../support/server-process.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { makeFolder } from '../support/temporary-folder.ts';

async function start(t: TestContext, folder: string, flags: readonly string[] = []): Promise<ServerProcess> {
  const server = await startServerProcess(folder, ['--log-level=debug', ...flags]);
  t.after(async () => server.stop());
  return server;
}

/** Rows whose graph takes some seconds to build. */
function vectors(rows: number): Uint8Array {
  const values = count(rows).map((row) => count(32).map((index) => Math.sin(row * 13 + index * 7)));
  return streamOf({ id: { type: new Int32(), values: count(rows) }, vec: { type: vectorType(32), values } });
}

test('a build that outlasts the drain is abandoned, and the log says which', async (t) => {
  const folder = await makeFolder(t);
  const server = await start(t, folder, ['--http-drain-seconds=0.5']);
  const client = new Client(server.url);
  assert.equal((await client.arrow('/v1/table/t/create', vectors(8000))).status, 200);
  const slow = { column: 'vec', index_type: 'IVF_HNSW_SQ', num_partitions: 1, m: 64, ef_construction: 800 };
  const started = await client.post('/v1/table/t/create_index', slow, { prefer: 'respond-async' });
  assert.equal(started.status, 202, started.text);
  const begun = performance.now();
  assert.equal(await server.stop(), 0);
  t.diagnostic(`stopped in ${Math.round(performance.now() - begun)} ms`);
  const ended = server.log.filter(({ event }) => event === 'worker-stopped' || event === 'worker-died');
  assert.deepEqual(
    ended.map(({ event }) => event),
    ['worker-stopped'],
  );
  const interrupted = server.log.filter(({ event }) => event === 'job-interrupted');
  assert.deepEqual(
    interrupted.map(({ jobId, table, phase }) => [jobId, table, phase]),
    [[started.json.job_id, 't', 'building']],
  );
  const next = new Client((await start(t, folder)).url);
  assert.deepEqual((await next.post('/v1/table/t/index/list', {})).json.indexes, []);
  assert.equal((await next.post('/v1/table/t/count_rows', {})).text, '8000');
});

test('a commit that runs at the end of the drain is finished and answered', async (t) => {
  const folder = await makeFolder(t);
  const server = await start(t, folder, ['--http-drain-seconds=0']);
  const client = new Client(server.url);
  assert.equal((await client.arrow('/v1/table/t/create', vectors(100_000))).status, 200);
  const update = client.post('/v1/table/t/update', { updates: [['id', 'id + 1000000']] });
  await eventually(async () => /^tiltyard_write_lanes_running [1-9]/m.test((await client.get('/metrics')).text));
  assert.equal(await server.stop(), 0);
  const answer = await update;
  assert.equal(answer.status, 200, answer.text);
  assert.ok(server.log.some(({ event }) => event === 'worker-stopped'));
  const next = new Client((await start(t, folder)).url);
  assert.equal((await next.post('/v1/table/t/count_rows', { predicate: 'id >= 1000000' })).text, '100000');
});

test('says that it is not ready at once, and serves on until the notice to load balancers is over', async (t) => {
  const server = await start(t, await makeFolder(t), ['--http-drain-notice-seconds=3']);
  const client = new Client(server.url);
  const readiness = async (): Promise<{ readonly status: number; readonly reason?: string }> => {
    const answer = await fetch(`${server.url}/readyz`);
    return { ...((await answer.json()) as { reason?: string }), status: answer.status };
  };
  assert.equal((await readiness()).status, 200);
  const stopped = server.stop();
  let shown = await readiness();
  while (shown.status === 200) shown = await readiness();
  assert.deepEqual([shown.status, shown.reason], [503, 'shutting down']);
  // Connections that are opened now are served, the process lives, and a write is a write.
  assert.equal((await client.get('/healthz')).status, 200);
  assert.equal((await client.arrow('/v1/table/t/create', vectors(10))).status, 200);
  assert.equal(await stopped, 0);
  await assert.rejects(fetch(`${server.url}/readyz`));
});
