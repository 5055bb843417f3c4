import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from '../../support/client.ts';
import { FaultyServer, MARKS_FILE, attempt } from '../../support/faulty-server.ts';

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

interface KillAtMark {
  readonly name: string;
  readonly action: 'kill' | 'kill-after';
  /** A kill between the mark and the first byte of the answer makes the same words again a new request. */
  readonly doubledMax: number;
}

const KILLS: readonly KillAtMark[] = [
  { name: 'right before', action: 'kill', doubledMax: 0 },
  { name: 'right after', action: 'kill-after', doubledMax: 1 },
];

/** Sends an increment until it is answered. */
async function untilAnswered(server: FaultyServer, table: string): Promise<void> {
  for (let tries = 0; tries < 20; tries += 1) {
    const answer = await attempt(increment(server, table));
    if (answer?.status === 200) return;
    await sleep(50);
  }
  assert.fail('the increment was never answered with 200');
}

/** Each is sent until it is answered, the second one by a worker whose predecessor was killed at a mark. */
async function killAtMark(t: TestContext, { action, doubledMax }: KillAtMark, before: number): Promise<void> {
  const server = await FaultyServer.start(t);
  if (server === undefined) return;
  await server.create('counter', [{ id: 1, hits: 0 }]);
  await requireIncrements(server, 'counter', before);
  const pid = server.server.workerPid();
  const kill = server.faults.set({ action, calls: ['write'], paths: MARKS_FILE });
  await untilAnswered(server, 'counter');
  if (kill.acted() > 0) await server.workerReplaced(pid);
  else server.faults.clear();
  for (let time = 1; time < INCREMENTS; time += 1) await untilAnswered(server, 'counter');
  assert.equal(kill.acted(), 1, 'the worker was not killed at the mark');
  const [row] = await server.rows('counter');
  const hits = row?.['hits'] ?? 0;
  const sent = before + INCREMENTS;
  assert.ok(hits >= sent, `${sent} increments were answered with 200, ${hits} were applied`);
  assert.ok(hits <= sent + doubledMax, `${sent} increments were sent, ${hits} were applied`);
}

for (const kill of KILLS) {
  test(`a kill ${kill.name} the first mark of equal updates swallows none of them`, async (t) =>
    killAtMark(t, kill, 0));
  test(`a kill ${kill.name} a later mark of equal updates swallows none of them`, async (t) => killAtMark(t, kill, 2));
}
