import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SlowClients } from '../../../src/http/admission/slow-clients.ts';

function createClients() {
  const clock = { now: 0 };
  return { clock, members: new SlowClients(5, () => clock.now) };
}

test('evicts the client that has been waited for longest, beyond the grace period', () => {
  const { clock, members } = createClients();
  const evicted: string[] = [];
  const [a, b] = ['a', 'b'].map((name) => members.track(() => evicted.push(name)));
  a?.waiting();
  clock.now = 1000;
  b?.waiting();
  clock.now = 4999;
  assert.equal(members.evictSlowest(), false);
  clock.now = 6000;
  assert.equal(members.evictSlowest(), true);
  assert.deepEqual(evicted, ['a']);
  assert.equal(members.size, 1);
  assert.ok(members.evictSlowest());
  assert.equal(members.evictSlowest(), false);
  assert.deepEqual(evicted, ['a', 'b']);
});

test('evicts no client that waits for the service, has progressed since, or has left', () => {
  const { clock, members } = createClients();
  const never = (): never => assert.fail('it was evicted');
  members.track(never);
  const moved = members.track(never);
  moved.waiting();
  clock.now = 9000;
  moved.progressed();
  moved.waiting();
  const left = members.track(never);
  left.waiting();
  clock.now = 13_999;
  left.leave();
  assert.equal(members.evictSlowest(), false);
});

test('evicts for memory only clients that hold some', () => {
  const { clock, members } = createClients();
  const evicted: string[] = [];
  members.track(() => evicted.push('without')).waiting();
  clock.now = 1000;
  members
    .track(
      () => evicted.push('holder'),
      () => true,
    )
    .waiting();
  clock.now = 7000;
  assert.equal(members.evictSlowest({ mustHoldMemory: true }), true);
  assert.equal(members.evictSlowest({ mustHoldMemory: true }), false);
  assert.deepEqual(evicted, ['holder']);
});

test('evicts a client that sends a little now and then, and none that sends enough', () => {
  const { clock, members } = createClients();
  const evicted: string[] = [];
  const [drip, steady] = ['drip', 'steady'].map((name) => members.track(() => evicted.push(name)));
  for (let second = 1; second <= 20; second += 1) {
    for (const client of [drip, steady]) client?.waiting();
    clock.now = second * 1000;
    if (members.evictSlowest()) break;
    drip?.progressed(256);
    steady?.progressed(20_000);
  }
  assert.deepEqual([evicted, clock.now], [['drip'], 6000]);
});
