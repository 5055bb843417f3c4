import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import { Client } from '../../support/client.ts';
import { ShownMetrics } from '../../support/metrics.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { assertRefused, badRequest, unauthenticated } from '../refusal.ts';

const SLOW_QUERIES = '/v1/slow_queries/list';
/** Every query takes longer than this. */
const ALL_ARE_SLOW = '--log-slow-query-seconds=0.000001';

interface Shown {
  readonly request_id: string;
  readonly table: string;
  readonly caller_name: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly analysis_state: string;
  readonly analysis: readonly string[];
  readonly plan?: Step;
}

interface Step {
  readonly operator: string;
  readonly metrics: Readonly<Record<string, { readonly value: number }>>;
  readonly children: readonly Step[];
}

const stepsOf = (step: Step): readonly Step[] => [step, ...step.children.flatMap(stepsOf)];

let server: ContractServer;
let table: MadeTable;
before(async () => {
  server = await ContractServer.start({ flags: [ALL_ARE_SLOW, '--log-slow-queries-max=5'] });
  table = await server.table();
});
after(async () => server.close());

async function list(client: Client = server.admin, body: object = {}): Promise<readonly Shown[]> {
  const { status, text, json } = await client.post(SLOW_QUERIES, body);
  assert.equal(status, 200, text);
  return json.slow_queries;
}

/** Its analysis runs in the background. */
async function whenAnalysed(requestId: string): Promise<Shown> {
  for (;;) {
    const found = (await list()).find((each) => each.request_id === requestId);
    assert.ok(found, 'the query is not listed');
    if (found.analysis_state !== 'running') return found;
    await wait(10);
  }
}

async function query(body: object, requestId: string): Promise<void> {
  const headers = { 'x-request-id': requestId, 'cache-control': 'no-cache' };
  const { status, text } = await server.admin.post(`${table.at}/query`, body, headers);
  assert.equal(status, 200, text);
}

suite('POST /v1/slow_queries/list', () => {
  test('shows who asked what of which table, how long it took, and what its steps cost', async () => {
    await query({ filter: "name = 'a secret' AND id IN (17, 18)", k: 4242, vector: [0.123, 1, 2, 3] }, 'slow-1');
    const found = await whenAnalysed('slow-1');
    assert.equal(found.analysis_state, 'done');
    assert.equal(found.table, table.id);
    assert.equal(found.caller_name, 'administrator');
    assert.equal(found.query['filter'], '(name = ? AND id IN (?, …))');
    assert.equal(found.query['dimensions'], 4);
    assert.ok(found.analysis.length > 1);
    assert.match(found.analysis.join('\n'), /KNNVectorDistance.*output_rows=/);
    assert.ok(found.plan);
    const steps = stepsOf(found.plan);
    assert.equal(steps.length, found.analysis.length);
    assert.ok(steps.some(({ operator, metrics }) => operator === 'KNNVectorDistance' && metrics['output_rows']));
  });

  test('shows neither literals nor vectors, not even in the analysis', async () => {
    await query({ filter: "name = 'xyzzy-literal' OR price > 98765.25", vector: [0.8125, 1, 2, 3], k: 3 }, 'slow-2');
    await query({ filter: "name LIKE 'xyzzy-pattern%' OR id = 987654", k: 3 }, 'slow-3');
    await whenAnalysed('slow-2');
    await whenAnalysed('slow-3');
    assert.doesNotMatch(JSON.stringify(await list()), /xyzzy|98765|0\.8125/);
  });

  test('lists counts too, without an analysis', async () => {
    const headers = { 'x-request-id': 'slow-count' };
    const { status } = await server.admin.post(`${table.at}/count_rows`, { predicate: 'id > 3' }, headers);
    assert.equal(status, 200);
    const found = await whenAnalysed('slow-count');
    assert.deepEqual([found.query, found.analysis], [{ filter: '(id > ?)' }, []]);
  });

  test('keeps so many and no more, newest first, in pages', async () => {
    for (let index = 0; index < 7; index += 1) await query({ k: 1 }, `many-${index}`);
    const ids = (await list()).map(({ request_id: id }) => id);
    assert.deepEqual(ids, ['many-6', 'many-5', 'many-4', 'many-3', 'many-2']);
    const first = await server.admin.post(SLOW_QUERIES, { limit: 3 });
    const second = await server.admin.post(SLOW_QUERIES, { limit: 3, page_token: first.json.page_token });
    const paged = [...first.json.slow_queries, ...second.json.slow_queries] as readonly Shown[];
    assert.deepEqual(
      paged.map(({ request_id: id }) => id),
      ids,
    );
    assert.equal(second.json.page_token, undefined);
  });

  test('is for administrators of the database, each of whom sees its own', async () => {
    assertRefused(await server.stranger().post(SLOW_QUERIES, {}), unauthenticated);
    const reader = await server.caller('reader');
    assert.equal((await reader.post(SLOW_QUERIES, {})).status, 403);
    const other = await server.database();
    const { json } = await server.admin.post(SLOW_QUERIES, {}, { 'x-service-database': other });
    assert.deepEqual(json.slow_queries, []);
  });

  test('refuses a page that is none, and fields that it does not know', async () => {
    assertRefused(await server.admin.post(SLOW_QUERIES, { limit: 0 }), badRequest(/limit/));
    assertRefused(await server.admin.post(SLOW_QUERIES, { page_token: 'x' }), badRequest(/token/));
    assertRefused(await server.admin.post(SLOW_QUERIES, { tabel: 'x' }), badRequest(/tabel/));
  });
});

test('a query that is quick enough is not listed, and none is when the time is 0', async () => {
  const quick = await ContractServer.start({ flags: ['--log-slow-query-seconds=3000'] });
  const off = await ContractServer.start({ flags: ['--log-slow-query-seconds=0'] });
  try {
    for (const each of [quick, off]) {
      const made = await each.table();
      await each.admin.post(`${made.at}/query`, { k: 1 });
      assert.deepEqual((await each.admin.post(SLOW_QUERIES, {})).json.slow_queries, []);
    }
  } finally {
    await Promise.all([quick.close(), off.close()]);
  }
});

test('a few slow queries a minute are analysed, the others only listed', async () => {
  const busy = await ContractServer.start({ flags: [ALL_ARE_SLOW, '--log-slow-analyses-per-minute-max=1'] });
  try {
    const made = await busy.table();
    for (let k = 1; k <= 4; k += 1) await busy.admin.post(`${made.at}/query`, { k });
    const { json } = await busy.admin.post(SLOW_QUERIES, {});
    const states = (json.slow_queries as readonly Shown[]).map((each) => each.analysis_state);
    assert.deepEqual(states.slice(0, 3), ['skipped', 'skipped', 'skipped']);
    assert.notEqual(states[3], 'skipped');
    const shown = await ShownMetrics.read(busy.url, ADMIN_KEY);
    assert.equal(shown.value('tiltyard_slow_queries_total', { operation: 'query_table' }), 4);
  } finally {
    await busy.close();
  }
});

test('the log names a slow query and the cost of its steps, without its literals', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-slow-'));
  const running = await startServerProcess(folder, [ALL_ARE_SLOW]);
  try {
    const client = new Client(running.url);
    await client.arrow('/v1/table/logged/create', sampleStream());
    const asked = { filter: "name = 'xyzzy-literal'", vector: [0.8125, 1, 2, 3], k: 3 };
    await client.post('/v1/table/logged/query', asked, { 'x-request-id': 'slow-logged' });
    const find = (event: string) => running.log.find((each) => each.event === event);
    while (find('slow-query-analysed') === undefined) await wait(20);
    const slow = find('slow-query');
    assert.deepEqual(
      [slow?.['level'], slow?.['requestId'], slow?.['operation'], slow?.['database'], slow?.['table']],
      ['warn', 'slow-logged', 'query_table', 'default', 'logged'],
    );
    assert.match(String(slow?.['query']), /filter=\(name = \?\)/);
    assert.match(String(slow?.['caller']), /^key:/);
    const analysed = find('slow-query-analysed');
    assert.match(JSON.stringify(analysed?.['details']), /KNNVectorDistance/);
    assert.deepEqual(Object.keys(analysed ?? {}), ['level', 'time', 'event', 'requestId', 'table', 'details']);
    assert.doesNotMatch(JSON.stringify(running.log), /xyzzy|0\.8125/);
  } finally {
    await running.stop();
    await rm(folder, { recursive: true, force: true });
  }
});
