import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Int32, count, streamOf, vectorType } from '../../contract/contract-tables.ts';
import { Client } from '../../support/client.ts';
import { startServerProcess } from '../../support/server-process.ts';

/** Rows whose graph takes some seconds to build. */
function toStream(rows: number): Uint8Array {
  const vectors = count(rows).map((row) => count(32).map((index) => Math.sin(row * 13 + index * 7)));
  return streamOf({ id: { type: new Int32(), values: count(rows) }, vec: { type: vectorType(32), values: vectors } });
}

test('a worker that dies during a build leaves the table as it was, and the build can be asked for again', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-build-'));
  const server = await startServerProcess(folder, ['--log-level=info']);
  t.after(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const client = new Client(server.url);
  assert.equal((await client.arrow('/v1/table/t/create', toStream(8000))).status, 200);
  const slow = { column: 'vec', index_type: 'IVF_HNSW_SQ', num_partitions: 1, m: 64, ef_construction: 800 };
  const started = await client.post('/v1/table/t/create_index', slow, { prefer: 'respond-async' });
  assert.equal(started.status, 202, started.text);

  await server.killWorker();
  const job = await client.post('/v1/jobs/describe', { job_id: started.json.job_id });
  assert.equal(job.status, 404, job.text);
  assert.deepEqual((await client.post('/v1/table/t/index/list', {})).json.indexes, []);
  const updated = await client.post('/v1/table/t/update', { updates: [['id', 'id + 1']] });
  assert.equal(updated.json.updated_rows, 8000, updated.text);

  const quick = { column: 'vec', index_type: 'IVF_FLAT', num_partitions: 4 };
  assert.equal((await client.post('/v1/table/t/create_index', quick)).status, 200);
});
