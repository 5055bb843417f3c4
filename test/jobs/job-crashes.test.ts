import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { ended, wideStream } from '../contract/computed/computed-tables.ts';
import { eventually } from '../support/eventually.ts';
import { FaultyServer, attempt, rowStream } from '../support/faulty-server.ts';
import type { Client } from '../support/client.ts';

const ROWS = 400;
const ATTEMPTS = 3;
/** The engine writes rows to them, and what it reads it does not write. */
const DATA_FILES = ['/data/'] as const;
const KILL = { action: 'kill', calls: ['write'], paths: DATA_FILES, count: Infinity } as const;
const NO_MAINTENANCE = '--maintenance-running-max=0';
const ADDED = { new_columns: [{ name: 'twice', computed: 'id * 2' }] };

async function startWithTable(t: TestContext, flags: readonly string[]): Promise<FaultyServer | undefined> {
  const faulty = await FaultyServer.start(t, flags);
  if (faulty === undefined) return undefined;
  assert.equal((await faulty.client.arrow('/v1/table/wide/create', wideStream(ROWS))).status, 200);
  return faulty;
}

function deaths({ server }: FaultyServer): number {
  return server.log.filter(({ event }) => event === 'worker-died').length;
}

/** The server may be restarting. */
async function whenFailed(client: Client, jobId: string): Promise<any> {
  let job: any;
  await eventually(
    async () => {
      job = (await attempt(client.post('/v1/jobs/describe', { job_id: jobId })))?.json;
      return job?.job_state === 'FAILED';
    },
    () => JSON.stringify(job),
  );
  return job;
}

test('a backfill that ends its process each time fails after a few attempts, and can be started again', async (t) => {
  const faulty = await startWithTable(t, ['--engine-backfill-bytes=64KiB', NO_MAINTENANCE]);
  if (faulty === undefined) return;
  const { client } = faulty;
  assert.equal((await client.post('/v1/table/wide/add_columns', ADDED)).status, 200);
  faulty.faults.set(KILL);
  const { json } = await client.post('/v1/table/wide/backfill_column', { column: 'twice' });
  const job = await whenFailed(client, json.job_id);
  assert.deepEqual([job.failure.retryable, deaths(faulty)], [false, ATTEMPTS]);
  assert.match(job.failure.message, /^The server process ended 3 times while this job ran.* send a new request/);

  faulty.faults.clear();
  const again = await client.post('/v1/table/wide/backfill_column', { column: 'twice' });
  assert.equal((await ended(client, again.json.job_id)).job_state, 'DONE');
});

test('a view whose refresh ends the process each time is refreshed automatically once a request has refreshed it', async (t) => {
  const faulty = await startWithTable(t, [
    '--views-poll-seconds=0.5',
    '--views-interval-seconds-min=1',
    NO_MAINTENANCE,
  ]);
  if (faulty === undefined) return;
  const { client } = faulty;
  await faulty.create('source', [{ id: 1 }]);
  for (const [view, source] of Object.entries({ bad: 'wide', good: 'source' })) {
    const query = { kind: 'query', source_query: `SELECT id FROM ${source}`, auto_refresh: true };
    assert.equal((await client.post(`/v1/materialized_view/${view}/create`, query)).status, 201);
  }
  /** The schedule looks at both views each time. */
  const whenRefreshed = async (view: string, rows: number): Promise<void> =>
    eventually(async () => (await attempt(client.post(`/v1/table/${view}/count_rows`, {})))?.json === rows);
  await whenRefreshed('good', 1);
  await whenRefreshed('bad', ROWS);
  const { location } = (await client.post('/v1/table/bad/describe', {})).json;
  faulty.faults.set({ ...KILL, paths: [`${location}/data/`] });
  assert.equal((await client.arrow('/v1/table/wide/insert', wideStream(1))).status, 200);
  const listFailed = async (): Promise<readonly any[]> =>
    (await attempt(client.post('/v1/jobs/list', {})))?.json.jobs.filter(({ state }: any) => state === 'FAILED') ?? [];
  await eventually(async () => (await listFailed()).length > 0);
  const addToGood = async (rows: number): Promise<number> => {
    assert.equal((await client.arrow('/v1/table/source/insert', rowStream([{ id: rows }]))).status, 200);
    await whenRefreshed('good', rows);
    return (await listFailed()).length;
  };
  const failed = await addToGood(2);
  assert.deepEqual([await addToGood(3), deaths(faulty)], [failed, ATTEMPTS]);

  faulty.faults.clear();
  const { json } = await client.post('/v1/materialized_view/bad/refresh', {});
  assert.equal((await ended(client, json.job_id)).job_state, 'DONE');
  assert.equal((await client.arrow('/v1/table/wide/insert', wideStream(1))).status, 200);
  await whenRefreshed('bad', ROWS + 2);
});

test('maintenance that ends the process each time is paused, and is resumed on request', async (t) => {
  const flags = ['--maintenance-small-fragments-max=2', '--maintenance-quiet-seconds=0.5'];
  const faulty = await startWithTable(t, flags);
  if (faulty === undefined) return;
  const { client } = faulty;
  const at = '/v1/table/wide/maintenance';
  assert.equal((await client.post(`${at}/pause`, {})).status, 200);
  for (let insert = 0; insert < 4; insert += 1) {
    assert.equal((await client.arrow('/v1/table/wide/insert', wideStream(1))).status, 200);
  }
  const describe = async (): Promise<any> => (await attempt(client.post(`${at}/describe`, {})))?.json;
  assert.ok((await describe()).would_do.reasons.length > 0);
  faulty.faults.set(KILL);
  assert.equal((await client.post(`${at}/resume`, {})).status, 200);
  await eventually(async () => (await describe())?.state === 'paused');
  assert.equal(deaths(faulty), ATTEMPTS);

  faulty.faults.clear();
  assert.equal((await client.post(`${at}/resume`, {})).status, 200);
  assert.equal((await client.arrow('/v1/table/wide/insert', wideStream(1))).status, 200);
  await eventually(async () => (await describe()).num_fragments === 1);
});
