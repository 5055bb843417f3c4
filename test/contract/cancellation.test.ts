import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ContractServer } from './contract-server.ts';
import type { MadeTable } from './contract-server.ts';
import { Int32, Utf8, count, streamOf } from './contract-tables.ts';
import { openRaw } from './raw-request.ts';
import { CODE, assertRefused } from './refusal.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const BUSY = { status: 503, code: CODE.unavailable } as const;

/** Takes some seconds on any machine. */
const SLOW = count(120)
  .map((each) => `md5(word || '${each}') = ''`)
  .join(' OR ');

async function start(t: TestContext, flags: readonly string[]): Promise<[ContractServer, MadeTable]> {
  const server = await ContractServer.start({ flags: ['--sql-operators-max=400', ...flags] });
  t.after(async () => server.close());
  const words = count(150_000).map(String);
  const stream = streamOf({
    id: { type: new Int32(), values: count(150_000) },
    word: { type: new Utf8(), values: words },
  });
  return [server, await server.table({ stream })];
}

/** Asks, and leaves without waiting for the answer. */
async function askAndLeave(server: ContractServer, path: string, body: object): Promise<void> {
  const sent = openRaw(server.url, { path, headers: JSON_TYPE });
  sent.on('error', () => undefined);
  sent.end(JSON.stringify(body));
  await sleep(200);
  sent.destroy();
}

async function eventually(isTrue: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    if (await isTrue()) return;
    await sleep(50);
  }
  assert.fail('it never became true');
}

for (const [what, operation, body] of [
  ['a query', 'query', { filter: SLOW, k: 10 }],
  ['a count', 'count_rows', { predicate: SLOW }],
  ['an analysis', 'analyze_plan', { filter: SLOW }],
] as const) {
  test(`${what} whose caller leaves gives up its place at once, and counts as abandoned until it ends`, async (t) => {
    const [server, { at }] = await start(t, [
      '--http-reads-max=1',
      '--http-queue-seconds=0',
      '--engine-abandoned-max=1',
    ]);
    await askAndLeave(server, `${at}/${operation}`, body);
    const tables = await server.admin.get('/v1/tables');
    assert.equal(tables.status, 200, 'the only place for reads is free again');
    const refused = await server.admin.post(`${at}/${operation}`, body);
    assertRefused(refused, { ...BUSY, detail: /1 queries .* still running/ });
    assert.equal(refused.headers.get('retry-after'), '5');
    await eventually(async () => (await server.admin.post(`${at}/count_rows`, {})).status === 200);
  });
}

test('a deadline of the caller ends its query at once, with 503', async (t) => {
  const [server, { at }] = await start(t, []);
  const startedAt = performance.now();
  const answer = await server.admin.post(`${at}/count_rows`, { predicate: SLOW }, { 'x-request-timeout-ms': '100' });
  assertRefused(answer, { ...BUSY, detail: /longer than the 0\.1 seconds/ });
  assert.ok(performance.now() - startedAt < 2000);
});

test('a write whose caller leaves while it waits for its table is not done; one that runs is finished', async (t) => {
  const [server, table] = await start(t, ['--engine-update-group-max=1']);
  const slow = {
    updates: [['word', `'slow'`]],
    predicate: `${SLOW.split(' OR ').slice(0, 50).join(' OR ')} OR id >= 0`,
  };
  await askAndLeave(server, `${table.at}/update`, slow);
  await askAndLeave(server, `${table.at}/update`, { updates: [['id', '-1']], predicate: 'id = 1' });
  await askAndLeave(server, `${table.at}/delete`, { predicate: 'id = 2' });
  const last = await server.admin.post(`${table.at}/update`, { updates: [['id', '-3']], predicate: 'id = 3' });
  assert.equal(last.status, 200, last.text);
  const counts = await Promise.all(
    [`word = 'slow'`, 'id = -1', 'id = 2', 'id = -3'].map(
      async (predicate) => (await server.admin.post(`${table.at}/count_rows`, { predicate })).text,
    ),
  );
  assert.deepEqual(counts, ['150000', '0', '1', '1']);
});
