import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from '../../support/client.ts';
import { FaultyServer, MARKS_FILE } from '../../support/faulty-server.ts';

const INCREMENTS = 6;

/** The same words every time. */
async function increment({ client }: FaultyServer, table: string): Promise<Answer> {
  return client.post(`/v1/table/${table}/update`, { updates: [['hits', 'hits + 1']], predicate: 'id = 1' });
}

async function requireIncrements(server: FaultyServer, table: string, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    const answer = await increment(server, table);
    assert.equal(answer.status, 200, `increment ${time + 1}: ${answer.text}`);
  }
}

async function assertHits(server: FaultyServer, table: string, hits: number): Promise<void> {
  assert.deepEqual(await server.rows(table), [{ id: 1, hits }]);
}

interface Restart {
  readonly name: string;
  readonly restart: (server: FaultyServer) => Promise<void>;
}

const RESTARTS: readonly Restart[] = [
  { name: 'a graceful restart', restart: async (server) => server.restart() },
  { name: 'a kill of the worker', restart: async ({ server }) => server.killWorker() },
];

for (const { name, restart } of RESTARTS) {
  test(`no equal update is swallowed after the marks could not be written and ${name}`, async (t) => {
    const server = await FaultyServer.start(t);
    if (server === undefined) return;
    await server.create('counter', [{ id: 1, hits: 0 }]);
    server.faults.set({ action: 'fail', calls: ['write'], paths: MARKS_FILE, error: 'ENOSPC', count: Infinity });
    await requireIncrements(server, 'counter', INCREMENTS);
    await assertHits(server, 'counter', INCREMENTS);
    server.faults.clear();
    await restart(server);
    await requireIncrements(server, 'counter', INCREMENTS);
    await assertHits(server, 'counter', 2 * INCREMENTS);
  });

  test(`one failed mark followed by other writes and ${name} swallows nothing, also after the window`, async (t) => {
    const windowSeconds = 2;
    const server = await FaultyServer.start(t, [`--journal-window-seconds=${windowSeconds}`]);
    if (server === undefined) return;
    await server.create('counter', [{ id: 1, hits: 0 }]);
    await server.create('other', [{ id: 1, hits: 0 }]);
    // The second equal update is known as one that is sent on purpose; a later one must be too.
    await requireIncrements(server, 'counter', 2);
    server.faults.set({ action: 'fail', calls: ['write'], paths: MARKS_FILE, error: 'ENOSPC' });
    await requireIncrements(server, 'counter', 1);
    server.faults.clear();
    await requireIncrements(server, 'other', 3);
    await sleep((windowSeconds + 1) * 1000);
    await restart(server);
    await requireIncrements(server, 'counter', INCREMENTS);
    await assertHits(server, 'counter', 3 + INCREMENTS);
    await assertHits(server, 'other', 3);
  });
}
