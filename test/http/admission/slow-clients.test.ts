import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SlowClients } from '../../../src/http/admission/slow-clients.ts';

function paced() {
  const clock = { now: 0 };
  return { clock, members: new SlowClients({ graceSeconds: 5, now: () => clock.now }) };
}

test('cuts the client that has kept us waiting longest, and nobody within the grace', () => {
  const { clock, members } = paced();
  const cut: string[] = [];
  const [a, b] = ['a', 'b'].map((name) => members.join(() => cut.push(name)));
  a?.waits();
  clock.now = 1000;
  b?.waits();
  clock.now = 4999;
  assert.equal(members.cutSlowest(), false);
  clock.now = 6000;
  assert.equal(members.cutSlowest(), true);
  assert.deepEqual(cut, ['a']);
  assert.equal(members.size, 1);
  assert.ok(members.cutSlowest());
  assert.equal(members.cutSlowest(), false);
  assert.deepEqual(cut, ['a', 'b']);
});

test('cuts nobody who is only waiting for us, has moved since, or has left', () => {
  const { clock, members } = paced();
  const never = (): never => assert.fail('it was cut');
  members.join(never);
  const moved = members.join(never);
  moved.waits();
  clock.now = 9000;
  moved.moves();
  moved.waits();
  const left = members.join(never);
  left.waits();
  clock.now = 13_999;
  left.leave();
  assert.equal(members.cutSlowest(), false);
});

test('cuts for memory only those who hold some', () => {
  const { clock, members } = paced();
  const cut: string[] = [];
  members.join(() => cut.push('without')).waits();
  clock.now = 1000;
  members
    .join(
      () => cut.push('holder'),
      () => true,
    )
    .waits();
  clock.now = 7000;
  assert.equal(members.cutSlowestHolder(), true);
  assert.equal(members.cutSlowestHolder(), false);
  assert.deepEqual(cut, ['holder']);
});
