import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Admission } from '../../src/http/admission.ts';
import { testLimits } from '../support/limits.ts';
import { refusalOf } from '../support/refusal.ts';

function admission(requestsMax: number, uploadsMax: number): Admission {
  return new Admission({ ...testLimits().http, requestsMax, uploadsMax });
}

test('takes requests up to the bound, and refuses more until one leaves', () => {
  const gate = admission(2, 2);
  const first = gate.enter(false);
  gate.enter(false);
  const refusal = refusalOf(() => gate.enter(false));
  assert.equal(refusal.kind, 'ServiceUnavailable');
  assert.equal(refusal.retryAfterSeconds, 1);
  assert.match(refusal.message, /2 requests/);
  first();
  gate.enter(false);
  assert.equal(gate.running, 2);
});

test('takes uploads up to a bound of their own, and other requests beside them', () => {
  const gate = admission(3, 1);
  const upload = gate.enter(true);
  assert.match(refusalOf(() => gate.enter(true)).message, /1 uploads/);
  gate.enter(false);
  assert.equal(gate.running, 2);
  upload();
  gate.enter(true);
});

test('keeps no place for what it refused', () => {
  const gate = admission(2, 1);
  const upload = gate.enter(true);
  for (let count = 0; count < 10; count += 1) refusalOf(() => gate.enter(true));
  assert.equal(gate.running, 1);
  upload();
  assert.equal(gate.running, 0);
  gate.enter(true);
});

test('gives a place back once, however often it is left', () => {
  const gate = admission(2, 2);
  const leave = gate.enter(true);
  gate.enter(true);
  leave();
  leave();
  assert.equal(gate.running, 1);
  gate.enter(true);
  refusalOf(() => gate.enter(true));
});

test('is idle when the last request has left, not before', async () => {
  const gate = admission(4, 4);
  await gate.whenIdle();
  const leaves = [gate.enter(false), gate.enter(true)];
  let idle = 0;
  const waits = [gate.whenIdle(), gate.whenIdle()].map(async (wait) => {
    await wait;
    idle += 1;
  });
  leaves[0]?.();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(idle, 0);
  leaves[1]?.();
  await Promise.all(waits);
  assert.equal(idle, 2);
});
