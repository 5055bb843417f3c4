import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { makeFolder } from '../../support/temporary-folder.ts';
import { ended, wideStream } from './computed-tables.ts';

const ROWS = 1600;
/** Steps of the smallest size: each fills a few dozen rows of two kilobytes. */
const FLAGS = ['--engine-backfill-bytes=64KiB', '--maintenance-running-max=0'];

test('a backfill that was killed in the middle goes on under the same id after the next start', async (t) => {
  const folder = await makeFolder(t);
  const first = await startServerProcess(folder, FLAGS);
  const client = new Client(first.url);
  assert.equal((await client.arrow('/v1/table/wide/create', wideStream(ROWS))).status, 200);
  const added = { new_columns: [{ name: 'twice', computed: 'id * 2' }] };
  assert.equal((await client.post('/v1/table/wide/add_columns', added)).status, 200);
  const started = await client.post('/v1/table/wide/backfill_column', { column: 'twice' });
  assert.equal(started.status, 202, started.text);
  const filledRows = async (of: Client): Promise<number> =>
    (await of.post('/v1/table/wide/count_rows', { predicate: 'twice IS NOT NULL' })).json;
  await eventually(async () => (await filledRows(client)) > 0);
  await first.killAll();

  const second = await startServerProcess(folder, FLAGS);
  t.after(async () => second.stop());
  const again = new Client(second.url);
  const job = await ended(again, started.json.job_id);
  assert.equal(job.job_state, 'DONE', JSON.stringify(job));
  assert.ok(job.result.rows_filled < ROWS, 'it began anew');
  assert.equal(await filledRows(again), ROWS);
  assert.equal((await again.post('/v1/table/wide/count_rows', { predicate: 'twice = id * 2' })).json, ROWS);
});

test('a server that is stopped leaves its backfill to the next start', async (t) => {
  const folder = await makeFolder(t);
  const first = await startServerProcess(folder, FLAGS);
  const client = new Client(first.url);
  assert.equal((await client.arrow('/v1/table/wide/create', wideStream(ROWS))).status, 200);
  const added = { new_columns: [{ name: 'twice', computed: 'id * 2' }] };
  assert.equal((await client.post('/v1/table/wide/add_columns', added)).status, 200);
  const started = await client.post('/v1/table/wide/backfill_column', { column: 'twice' });
  assert.equal(await first.stop(), 0);

  const second = await startServerProcess(folder, FLAGS);
  t.after(async () => second.stop());
  const again = new Client(second.url);
  assert.equal((await ended(again, started.json.job_id)).job_state, 'DONE');
  assert.equal((await again.post('/v1/table/wide/count_rows', { predicate: 'twice = id * 2' })).json, ROWS);
});
