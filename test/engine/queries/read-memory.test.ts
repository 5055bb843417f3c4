import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReadMemory } from '../../../src/engine/queries/read-memory.ts';
import type { ReadLease, ReadMemoryLimits } from '../../../src/engine/queries/read-memory.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';

const MiB = 2 ** 20;

function open(limits: Partial<ReadMemoryLimits> = {}, residentBytes = (): number => 0): ReadMemory {
  const all = {
    memoryBytesMax: 300 * MiB,
    memoryPerCallerBytesMax: 200 * MiB,
    memoryPerRequestBytesMax: 200 * MiB,
    memoryWaitSeconds: 60,
    residentBytesMax: 1000 * MiB,
  };
  return new ReadMemory({ ...all, ...limits }, residentBytes);
}

/** Reserved without a wait. */
function hold(memory: ReadMemory, caller: string, bytes: number): ReadLease {
  const lease = memory.lease(caller);
  assert.equal(lease.reserve(bytes, bytes), undefined);
  return lease;
}

const isBusy = (error: unknown): boolean =>
  error instanceof ServiceError && error.kind === 'ServiceUnavailable' && error.retryAfterSeconds !== undefined;

test('gives memory without a promise while there is some, and takes it back once', () => {
  const memory = open();
  const lease = hold(memory, 'ann', 150 * MiB);
  assert.equal(memory.usedBytes, 150 * MiB);
  lease.close();
  lease.close();
  lease.resize(10 * MiB);
  assert.equal(memory.usedBytes, 0);
});

test('keeps a caller within its share, while another gets memory at once', async () => {
  const memory = open();
  const first = hold(memory, 'ann', 150 * MiB);
  const order: string[] = [];
  const waiting = memory.lease('ann').reserve(100 * MiB, 0);
  void waiting?.then(() => order.push('ann'));
  hold(memory, 'bob', 100 * MiB);
  order.push('bob');
  first.close();
  await waiting;
  assert.deepEqual(order, ['bob', 'ann']);
});

test('serves waiting callers in round-robin, not the one that sent most first', async () => {
  const memory = open({ memoryBytesMax: 100 * MiB, memoryPerCallerBytesMax: 100 * MiB });
  const first = hold(memory, 'cid', 100 * MiB);
  const order: string[] = [];
  const claims = ['ann', 'ann', 'ann', 'bob'].map(async (caller, index) => {
    const lease = memory.lease(caller);
    await lease.reserve(100 * MiB, 0);
    order.push(`${caller} ${index}`);
    lease.close();
  });
  first.close();
  await Promise.all(claims);
  assert.deepEqual(order, ['ann 0', 'bob 3', 'ann 1', 'ann 2']);
  assert.equal(memory.usedBytes, 0);
});

test('refuses a read that waited in vain, with Retry-After, and says whose queries take the memory', async () => {
  const memory = open({ memoryWaitSeconds: 0.01 });
  const own = hold(memory, 'ann', 200 * MiB);
  await assert.rejects(
    async () => memory.lease('ann').reserve(MiB, 0),
    (error) => isBusy(error) && /of this caller/.test(String(error)),
  );
  hold(memory, 'bob', 100 * MiB);
  await assert.rejects(
    async () => memory.lease('cid').reserve(MiB, 0),
    (error) => isBusy(error) && /other callers/.test(String(error)),
  );
  assert.equal(memory.refused, 2);
  own.close();
  hold(memory, 'cid', 150 * MiB);
});

test('a read whose client leaves while it waits takes nothing', async () => {
  const memory = open();
  const first = hold(memory, 'ann', 200 * MiB);
  const client = new AbortController();
  const waiting = memory.lease('ann', { signal: () => client.signal }).reserve(50 * MiB, 0);
  client.abort();
  await assert.rejects(async () => waiting, /disconnected/);
  first.close();
  assert.equal(memory.usedBytes, 0);
});

test('a lease that is closed while it waits takes nothing', async () => {
  const memory = open();
  const first = hold(memory, 'ann', 200 * MiB);
  const lease = memory.lease('ann');
  const waiting = lease.reserve(50 * MiB, 0);
  lease.close();
  first.close();
  await waiting;
  assert.equal(memory.usedBytes, 0);
});

test('a query that runs again takes only what it lacks', () => {
  const memory = open();
  const lease = hold(memory, 'ann', 100 * MiB);
  assert.equal(lease.reserve(120 * MiB, 0), undefined);
  assert.equal(lease.reserve(50 * MiB, 0), undefined);
  assert.equal(memory.usedBytes, 120 * MiB);
});

test('a kept result shrinks as its batches are returned', () => {
  const memory = open();
  const lease = memory.lease('ann');
  assert.equal(lease.reserve(120 * MiB, 40 * MiB), undefined);
  lease.observe(10 * MiB);
  assert.equal(memory.usedBytes, 90 * MiB);
  lease.observe(20 * MiB);
  assert.equal(memory.usedBytes, 30 * MiB);
  // More came than was estimated.
  lease.observe(20 * MiB);
  assert.equal(memory.usedBytes, 20 * MiB);
});

test('a scan whose batches are larger than estimated counts for what it holds ahead', () => {
  const memory = open();
  const lease = memory.lease('ann');
  assert.equal(lease.reserve(30 * MiB, 0), undefined);
  lease.observe(MiB);
  assert.equal(memory.usedBytes, 30 * MiB);
  lease.observe(10 * MiB);
  assert.equal(memory.usedBytes, 240 * MiB);
});

test('above the resident size, large reads run one at a time and small ones go on', async () => {
  let resident = 0;
  const memory = open({}, () => resident);
  resident = 2000 * MiB;
  const first = hold(memory, 'ann', 100 * MiB);
  const waiting = memory.lease('bob').reserve(100 * MiB, 0);
  hold(memory, 'cid', 20 * MiB).close();
  assert.notEqual(waiting, undefined);
  first.close();
  await waiting;
});

test('work of the service takes at most a quarter', async () => {
  const memory = open({ memoryWaitSeconds: 0.01 });
  await assert.rejects(async () => memory.lease('').reserve(100 * MiB, 0), isBusy);
  hold(memory, '', 60 * MiB);
  assert.equal(memory.usedBytes, 60 * MiB);
});
