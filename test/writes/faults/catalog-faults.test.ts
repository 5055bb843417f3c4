import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'libsql';
import { CATALOG_LOG, FaultyServer, attempt, rowStream } from '../../support/faulty-server.ts';
import type { Row } from '../../support/faulty-server.ts';
import type { Client } from '../../support/client.ts';

const CATALOG_FILE = 'tiltyard.db';
/** The catalog waits that long for a lock of another process. */
const BUSY_SECONDS = 5;
/** Of a busy machine; one by one the writes would take minutes. */
const MARGIN_SECONDS = 10;
const LOCKED_SECONDS_MAX = 30;
const OWN_TABLES = 40;
const SHARED_ROWS = 30;

async function secondsOf(work: Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work;
  return (performance.now() - startedAt) / 1000;
}

async function update(client: Client, table: string, id: number): Promise<unknown> {
  return client.post(`/v1/table/${table}/update`, { updates: [['value', 'value + 1']], predicate: `id = ${id}` });
}

test('writers that meet a locked catalog are all answered after the busy timeout, not one by one', async (t) => {
  const server = await FaultyServer.start(t, ['--http-connections-max=500']);
  if (server === undefined) return;
  const { client } = server;
  const rows: readonly Row[] = Array.from({ length: SHARED_ROWS }, (_unused, id) => ({ id, value: 0 }));
  await server.create('shared', rows);
  for (let table = 0; table < OWN_TABLES; table += 1) await server.create(`own-${table}`, rows.slice(0, 1));

  const other = new Database(join(server.folder, CATALOG_FILE));
  other.exec('begin immediate');
  const own = Array.from({ length: OWN_TABLES }, async (_unused, each) => secondsOf(update(client, `own-${each}`, 0)));
  const shared = rows.map(async ({ id = 0 }) => secondsOf(update(client, 'shared', id)));
  const ended = Promise.all([Promise.all(own), Promise.all(shared)]);
  await Promise.race([ended, sleep(LOCKED_SECONDS_MAX * 1000)]);
  other.exec('rollback');
  other.close();
  const [ownSeconds, sharedSeconds] = await ended;
  const ownMax = Math.max(...ownSeconds);
  assert.ok(ownMax <= BUSY_SECONDS + MARGIN_SECONDS, `a write of a table of its own took ${ownMax.toFixed(1)} s`);
  // One that has its turn when the others come waits alone; they wait together.
  const sharedMax = Math.max(...sharedSeconds);
  assert.ok(
    sharedMax <= 2 * BUSY_SECONDS + MARGIN_SECONDS,
    `a write of the shared table took ${sharedMax.toFixed(1)} s`,
  );
});

const KILLED_AT_REMOVAL = [0, 1, 2, 3, 4, 5];

test('a create whose publication failed and whose removal was cut by a kill leaves a table or a free name', async (t) => {
  const server = await FaultyServer.start(t);
  if (server === undefined) return;
  const rows: readonly Row[] = [
    { id: 1, value: 1 },
    { id: 2, value: 2 },
  ];
  const writeToLog = { calls: ['write'], paths: CATALOG_LOG } as const;
  const probe = server.faults.set({ ...writeToLog, action: 'log' });
  await server.create('probe', rows);
  const writes = probe.matched();
  let killed = 0;
  for (const skip of KILLED_AT_REMOVAL) {
    await t.test(`killed at call ${skip + 1} of the removal`, async () => {
      const table = `made${skip}`;
      const pid = server.server.workerPid();
      // The first transaction reserves the name, the last one publishes the table: the log refuses that one.
      const failed = server.faults.set({ ...writeToLog, action: 'fail', error: 'EIO', skip: writes - 2 });
      const kill = server.faults.add({ action: 'kill', calls: ['unlink'], paths: [`/${table}-`], skip: skip + 1 });
      const answer = await attempt(server.client.arrow(`/v1/table/${table}/create`, rowStream(rows)));
      if (kill.acted() > 0) {
        killed += 1;
        await server.workerReplaced(pid);
      }
      server.faults.clear();
      assert.equal(failed.acted(), 1, 'the commit did not fail');
      assert.notEqual(answer?.status, 409, answer?.text);
      const described = await server.client.post(`/v1/table/${table}/describe`, {});
      if (described.status !== 200) await server.create(table, rows);
      assert.deepEqual(await server.rows(table), rows);
      assert.deepEqual(await server.client.get('/v1/tables').then(({ json }) => json.tables.includes(table)), true);
    });
  }
  assert.ok(killed > 0, 'no kill fell into a removal');
});

test('a rename that was committed but could not be synced says that it may have been made', async (t) => {
  const server = await FaultyServer.start(t);
  if (server === undefined) return;
  await server.create('before', [{ id: 1, value: 1 }]);
  server.faults.set({ calls: ['sync'], paths: CATALOG_LOG, action: 'fail', error: 'EIO', count: Infinity });
  const answer = await server.client.post('/v1/table/before/rename', { new_table_name: 'after' });
  server.faults.clear();
  assert.equal(answer.status, 503, answer.text);
  assert.match(answer.text, /not known whether the change was made/);
  assert.equal(answer.json.outcome, 'unknown');
  const found = await Promise.all(
    ['before', 'after'].map(async (table) => (await server.client.post(`/v1/table/${table}/exists`, {})).status),
  );
  assert.deepEqual(found.toSorted(), [200, 404]);
});
