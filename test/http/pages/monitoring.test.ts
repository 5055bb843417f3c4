import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { readEngineRelease } from '../../../src/engine/native/engine-release.ts';
import { metricsReference } from '../../../src/telemetry/metrics/metric-rows.ts';
import { ContractServer, updated } from '../../contract/contract-server.ts';
import { ShownMetrics } from '../../support/metrics.ts';
import { ADMIN_KEY, startServer } from '../../support/server.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { RawConnection, requestText } from '../raw-connection.ts';

let server: ContractServer;

before(async () => {
  server = await ContractServer.start();
});

after(async () => {
  await server.close();
});

async function read(): Promise<ShownMetrics> {
  return ShownMetrics.read(server.url, ADMIN_KEY);
}

async function statusOf(url: string, headers: Record<string, string> = {}, page = '/metrics'): Promise<number> {
  const answer = await fetch(`${url}${page}`, { headers });
  await answer.arrayBuffer();
  return answer.status;
}

test('the metrics are shown to administrators of the server only, by either header', async () => {
  const ofServer = await server.key([{ role: 'admin', database: undefined, path: [] }]);
  const ofOneDatabase = await server.key([{ role: 'admin', database: 'default', path: [] }]);
  const reader = await server.key([{ role: 'reader', database: undefined, path: [] }]);
  assert.equal(await statusOf(server.url, { 'x-api-key': ADMIN_KEY }), 200);
  assert.equal(await statusOf(server.url, { authorization: `Bearer ${ofServer}` }), 200);
  assert.equal(await statusOf(server.url, { authorization: `Bearer ${ADMIN_KEY}` }), 200);
  assert.equal(await statusOf(server.url, { authorization: 'Bearer another-key-of-enough-length' }), 401);
  assert.equal(await statusOf(server.url), 401);
  assert.equal(await statusOf(server.url, { 'x-api-key': 'x'.repeat(40) }), 401);
  assert.equal(await statusOf(server.url, { 'x-api-key': ofOneDatabase }), 403);
  assert.equal(await statusOf(server.url, { 'x-api-key': reader }), 403);
});

test('the history of the metrics is for the same callers', async () => {
  const reader = await server.key([{ role: 'reader', database: undefined, path: [] }]);
  const history = '/metrics/history';
  assert.equal(await statusOf(server.url, {}, history), 401);
  assert.equal(await statusOf(server.url, { 'x-api-key': reader }, history), 403);
  const answer = await fetch(`${server.url}${history}`, { headers: { 'x-api-key': ADMIN_KEY } });
  const { points } = (await answer.json()) as { points: readonly unknown[] };
  assert.ok(Array.isArray(points));
});

test('the metrics are only read: any other method is refused with those that are offered', async () => {
  const answer = await fetch(`${server.url}/metrics`, { method: 'POST', headers: { 'x-api-key': ADMIN_KEY } });
  assert.equal(answer.status, 405);
  assert.equal(answer.headers.get('allow'), 'GET, HEAD');
  await answer.arrayBuffer();
});

test('every metric of the list is shown, and no other, each with a name of ours and its unit', async () => {
  const shown = (await read()).names();
  const listed = metricsReference().map(({ name }) => name);
  assert.deepEqual(shown.toSorted(), listed.toSorted());
  for (const name of listed) assert.match(name, /^tiltyard_[a-z]+(_[a-z]+)*$/);
});

test('requests are counted by operation, class of status and dialect, with their time and bytes', async () => {
  const table = await server.table();
  const before = await read();
  await server.admin.post(`${table.at}/query`, { k: 3 });
  await server.admin.post(`${table.at}/query`, { k: -3 });
  await server.admin.post(`${table.at}/query/`, { k: 3, vector: [] });
  const now = await read();
  const grown = (name: string, labels: Readonly<Record<string, string>>): number =>
    now.value(name, labels) - before.value(name, labels);
  const operation = 'query_table';
  assert.equal(grown('tiltyard_requests_total', { operation, status: '2xx', dialect: 'lance' }), 1);
  assert.equal(grown('tiltyard_requests_total', { operation, status: '4xx', dialect: 'lance' }), 1);
  assert.equal(grown('tiltyard_requests_total', { operation, dialect: 'lancedb' }), 1);
  assert.equal(grown('tiltyard_request_duration_seconds_count', { operation }), 3);
  assert.ok(grown('tiltyard_request_duration_seconds_sum', { operation }) > 0);
  assert.ok(grown('tiltyard_request_bytes_total', { operation }) > 10);
  assert.ok(grown('tiltyard_reply_bytes_total', { operation }) > 100);
  assert.ok(grown('tiltyard_refusals_total', { kind: 'InvalidInput' }) >= 1);
  assert.ok(grown('tiltyard_engine_call_duration_seconds_count', { call: 'rows.query' }) >= 1);
});

test('bytes of bodies are counted as they are read, whatever length is declared', async () => {
  const table = await server.table();
  const operation = 'count_table_rows';
  const count = async (): Promise<number> => (await read()).value('tiltyard_request_bytes_total', { operation });
  const before = await count();
  const connection = await RawConnection.open(server.url);
  const declared = { 'x-api-key': 'x'.repeat(40), 'content-length': String(Number.MAX_SAFE_INTEGER) };
  connection.write(requestText(`POST ${table.at}/count_rows`, declared));
  assert.equal((await connection.reply()).status, 401);
  connection.close();
  assert.equal(await count(), before);
  const body = '{"predicate": "id < 3"}';
  const answer = await fetch(`${server.url}${table.at}/count_rows`, {
    method: 'POST',
    headers: { 'x-api-key': ADMIN_KEY },
    body: new Blob([body]).stream(),
    duplex: 'half',
  });
  assert.equal(await answer.text(), '3');
  assert.equal(await count(), before + body.length);
});

test('an address without a route is counted without its text', async () => {
  const { text } = await server.admin.get('/v1/secret-name-of-nothing');
  assert.match(text, /route does not exist/);
  const shown = await read();
  assert.ok(shown.value('tiltyard_requests_total', { operation: 'none', status: '4xx' }) >= 1);
  assert.doesNotMatch(shown.text, /secret-name/);
});

test('no label holds the name of a table or of a caller', async () => {
  const table = await server.table({ id: 'a_table_with_a_name' });
  const writer = await server.caller('writer');
  await updated(writer, table, { updates: [['name', "'x'"]] });
  const { text } = await read();
  assert.doesNotMatch(text, /a_table_with_a_name|key:/);
});

test('lookups, open tables and batched updates are counted', async () => {
  const table = await server.table();
  const before = await read();
  for (let index = 0; index < 3; index += 1) {
    await updated(server.admin, table, { updates: [['name', "'y'"]], predicate: `id = ${index}` });
  }
  const now = await read();
  const grown = (name: string, labels?: Readonly<Record<string, string>>): number =>
    now.value(name, labels) - before.value(name, labels);
  assert.ok(grown('tiltyard_lookups_total', { outcome: 'hit' }) > 0);
  assert.ok(grown('tiltyard_open_table_uses_total') >= 3);
  assert.equal(grown('tiltyard_update_group_members_sum'), 3);
  assert.ok(now.value('tiltyard_open_tables') >= 1);
  assert.ok(now.value('tiltyard_lookup_cache_entries') >= 1);
  assert.equal(now.value('tiltyard_write_lanes_waiting'), 0);
});

test('a write counts the transactions of the catalog and the syncs that it took', async () => {
  const table = await server.table();
  const before = await read();
  await updated(server.admin, table, { updates: [['name', "'s'"]], predicate: 'id = 0' });
  const now = await read();
  const grown = (name: string): number => now.value(name) - before.value(name);
  assert.ok(grown('tiltyard_catalog_transactions_total') >= 1);
  // A data file and a manifest at least, and the folders that hold them.
  assert.ok(grown('tiltyard_syncs_total') >= 4);
});

test('maintenance and jobs are counted by their outcome', async () => {
  const table = await server.table();
  for (let index = 0; index < 3; index += 1) {
    await updated(server.admin, table, { updates: [['name', "'z'"]], predicate: `id = ${index}` });
  }
  const { status, text } = await server.admin.post(`${table.at}/maintenance/run`, {});
  assert.equal(status, 200, text);
  const shown = await read();
  assert.ok(shown.value('tiltyard_maintenance_runs_total', { outcome: 'done' }) >= 1);
  assert.ok(shown.value('tiltyard_jobs_total', { job: 'maintenance', outcome: 'DONE' }) >= 1);
  assert.ok(shown.value('tiltyard_job_duration_seconds_count', { job: 'maintenance' }) >= 1);
});

test('the process, its connections and its budgets are shown', async () => {
  const shown = await read();
  assert.ok(shown.value('tiltyard_memory_bytes', { kind: 'rss' }) > 10_000_000);
  assert.ok(shown.value('tiltyard_cpu_seconds_total', { mode: 'user' }) > 0);
  assert.ok(shown.value('tiltyard_connections') >= 1);
  assert.equal(shown.value('tiltyard_budget_max_bytes', { budget: 'arrow' }), 192 * 1024 * 1024);
  assert.equal(shown.value('tiltyard_build_info'), 1);
  assert.equal(shown.value('tiltyard_engine_info', { release: readEngineRelease().version }), 1);
  assert.equal(shown.value('tiltyard_worker_restarts_total'), 0);
});

test('requests that find no slot are counted as refused, by class of work', async () => {
  const tight = await ContractServer.start({
    flags: ['--http-reads-max=1', '--http-waiting-max=1', '--http-queue-seconds=0'],
  });
  try {
    const table = await tight.table();
    const statuses = await Promise.all(
      Array.from({ length: 12 }, async () => (await tight.admin.post(`${table.at}/query`, { k: 1 })).status),
    );
    const refused = statuses.filter((status) => status === 503).length;
    assert.ok(refused > 0, statuses.join(' '));
    const shown = await ShownMetrics.read(tight.url, ADMIN_KEY);
    assert.equal(shown.value('tiltyard_admission_refused_total', { work: 'read' }), refused);
    assert.equal(shown.value('tiltyard_admission_refused_total', { work: 'write' }), 0);
    assert.equal(shown.value('tiltyard_refusals_total', { kind: 'ServiceUnavailable' }), refused);
    assert.equal(shown.value('tiltyard_requests_total', { operation: 'query_table', status: '5xx' }), refused);
  } finally {
    await tight.close();
  }
});

test('metrics.access opens the page to everyone, or takes it away', async () => {
  const open = await startServer({ flags: ['--metrics-access=everyone', '--base-path=/lance'] });
  const closed = await startServer({ flags: ['--metrics-access=off'] });
  try {
    assert.equal(await statusOf(open.url), 200);
    assert.equal(await statusOf(`${open.url}/lance`), 200);
    assert.equal(await statusOf(closed.url, { 'x-api-key': ADMIN_KEY }), 404);
    assert.equal(await statusOf(closed.url, { 'x-api-key': ADMIN_KEY }, '/metrics/history'), 404);
  } finally {
    await Promise.all([open.close(), closed.close()]);
  }
});

test('a worker that was replaced is counted by its successor', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-metrics-'));
  const running = await startServerProcess(folder);
  try {
    assert.equal((await ShownMetrics.read(running.url, ADMIN_KEY)).value('tiltyard_worker_restarts_total'), 0);
    await running.killWorker();
    assert.equal((await ShownMetrics.read(running.url, ADMIN_KEY)).value('tiltyard_worker_restarts_total'), 1);
  } finally {
    await running.stop();
    await rm(folder, { recursive: true, force: true });
  }
});
