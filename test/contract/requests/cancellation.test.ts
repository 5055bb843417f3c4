import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { eventually } from '../../support/eventually.ts';
import { ShownMetrics } from '../../support/metrics.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Int32, Utf8, count, streamOf } from '../contract-tables.ts';
import { openRaw } from '../raw-request.ts';
import { CODE, assertRefused } from '../refusal.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const BUSY = { status: 503, code: CODE.unavailable } as const;

const ROWS = 30_000;

/** Takes about a second on any machine. */
const SLOW = count(120)
  .map((each) => `md5(word || '${each}') = ''`)
  .join(' OR ');

async function start(t: TestContext, flags: readonly string[]): Promise<[ContractServer, MadeTable]> {
  const server = await ContractServer.start({ flags: ['--sql-operators-max=400', ...flags] });
  t.after(async () => server.close());
  const words = count(ROWS).map(String);
  const stream = streamOf({
    id: { type: new Int32(), values: count(ROWS) },
    word: { type: new Utf8(), values: words },
  });
  return [server, await server.table({ stream })];
}

interface Shown {
  readonly [metric: `tiltyard_${string}`]: number;
}

async function becomes(server: ContractServer, shown: Shown): Promise<void> {
  await eventually(async () => {
    const metrics = await ShownMetrics.read(server.url, ADMIN_KEY);
    return Object.entries(shown).every(([name, value]) => metrics.value(name) === value);
  });
}

/** Asks, and leaves without waiting for the answer, as soon as the service shows that it has come so far. */
async function askAndLeave(server: ContractServer, path: string, body: object, until: Shown): Promise<void> {
  const sent = openRaw(server.url, { path, headers: JSON_TYPE });
  sent.on('error', () => undefined);
  sent.end(JSON.stringify(body));
  await becomes(server, until);
  sent.destroy();
}

for (const [what, operation, body] of [
  ['a query', 'query', { filter: SLOW, k: 10 }],
  ['a count', 'count_rows', { predicate: SLOW }],
  ['an analysis', 'analyze_plan', { filter: SLOW }],
] as const) {
  test(`${what} whose caller leaves frees its slot at once, and counts as orphaned until it ends`, async (t) => {
    const [server, { at }] = await start(t, [
      '--http-reads-max=1',
      '--http-queue-seconds=0',
      '--engine-abandoned-max=1',
    ]);
    await askAndLeave(server, `${at}/${operation}`, body, { tiltyard_admission_running: 1 });
    // The only place for reads is free again, long before the end.
    await becomes(server, { tiltyard_admission_running: 0, tiltyard_engine_abandoned_queries: 1 });
    assert.equal((await server.admin.get('/v1/tables')).status, 200);
    const refused = await server.admin.post(`${at}/${operation}`, body);
    assertRefused(refused, { ...BUSY, detail: /1 queries .* still running/ });
    assert.equal(refused.headers.get('retry-after'), '5');
    await eventually(async () => (await server.admin.post(`${at}/count_rows`, {})).status === 200);
  });
}

test('queries that one caller left lock only that caller out', async (t) => {
  const [server, { at }] = await start(t, ['--engine-orphaned-queries-per-caller-max=2']);
  const other = await server.caller('reader');
  for (const left of [1, 2]) {
    await askAndLeave(server, `${at}/count_rows`, { predicate: SLOW }, { tiltyard_admission_running: 1 });
    await becomes(server, { tiltyard_admission_running: 0, tiltyard_engine_abandoned_queries: left });
  }
  const refused = await server.admin.post(`${at}/count_rows`, {});
  assertRefused(refused, { ...BUSY, detail: /2 queries of this caller .* still running/ });
  assert.equal((await other.post(`${at}/count_rows`, {})).text, String(ROWS));
  await eventually(async () => (await server.admin.post(`${at}/count_rows`, {})).status === 200);
});

test('a deadline of the caller ends its query at once, with 503', async (t) => {
  const [server, { at }] = await start(t, []);
  const answer = await server.admin.post(`${at}/count_rows`, { predicate: SLOW }, { 'x-request-timeout-ms': '100' });
  assertRefused(answer, { ...BUSY, detail: /time limit of 0\.1 s/ });
  // It is still running.
  assert.equal((await ShownMetrics.read(server.url, ADMIN_KEY)).value('tiltyard_engine_abandoned_queries'), 1);
});

test('a write whose caller leaves while it waits for its table is not done; one that runs is finished', async (t) => {
  const [server, table] = await start(t, ['--engine-update-group-max=1']);
  const slow = {
    updates: [['word', `'slow'`]],
    predicate: `${SLOW.split(' OR ').slice(0, 100).join(' OR ')} OR id >= 0`,
  };
  const running = { tiltyard_write_lanes_running: 1 };
  await askAndLeave(server, `${table.at}/update`, slow, { ...running, tiltyard_write_lanes_waiting: 0 });
  const moved = { updates: [['id', '-1']], predicate: 'id = 1' };
  await askAndLeave(server, `${table.at}/update`, moved, { ...running, tiltyard_write_lanes_waiting: 1 });
  await becomes(server, { ...running, tiltyard_write_lanes_waiting: 0 });
  const gone = { predicate: 'id = 2' };
  await askAndLeave(server, `${table.at}/delete`, gone, { ...running, tiltyard_write_lanes_waiting: 1 });
  const last = await server.admin.post(`${table.at}/update`, { updates: [['id', '-3']], predicate: 'id = 3' });
  assert.equal(last.status, 200, last.text);
  const counts = await Promise.all(
    [`word = 'slow'`, 'id = -1', 'id = 2', 'id = -3'].map(
      async (predicate) => (await server.admin.post(`${table.at}/count_rows`, { predicate })).text,
    ),
  );
  assert.deepEqual(counts, [String(ROWS), '0', '1', '1']);
});
