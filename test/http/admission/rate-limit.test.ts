import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RateLimit } from '../../../src/http/admission/rate-limit.ts';
import { refusalOf } from '../../support/refusal.ts';

function rateAt(requestsPerSecond: number, callersMax = 100) {
  const clock = { milliseconds: 0 };
  const rate = new RateLimit(requestsPerSecond, { callersMax, now: () => clock.milliseconds });
  const taken = (caller: string): number => {
    for (let count = 0; ; count += 1) {
      try {
        rate.take(caller);
      } catch {
        return count;
      }
    }
  };
  return { clock, rate, taken };
}

test('takes one second of requests at once, and refuses the next', () => {
  const { rate, taken } = rateAt(5);
  assert.equal(taken('a'), 5);
  const refusal = refusalOf(() => rate.take('a'));
  assert.equal(refusal.kind, 'Throttling');
  assert.equal(refusal.traits.code, 21);
  assert.equal(refusal.retryAfterSeconds, 1);
  assert.equal(refusal.message, 'This caller sends more than 5 requests a second.');
});

test('gives back what the time that passed is worth, and never more than a second', () => {
  const { clock, taken } = rateAt(10);
  assert.equal(taken('a'), 10);
  clock.milliseconds += 250;
  assert.equal(taken('a'), 2);
  clock.milliseconds += 50;
  assert.equal(taken('a'), 1);
  clock.milliseconds += 3_600_000;
  assert.equal(taken('a'), 10);
});

test('does not punish a caller for having been refused', () => {
  const { clock, rate, taken } = rateAt(2);
  taken('a');
  for (let count = 0; count < 100; count += 1) refusalOf(() => rate.take('a'));
  clock.milliseconds += 1000;
  assert.equal(taken('a'), 2);
});

test('counts each caller alone', () => {
  const { taken } = rateAt(3);
  assert.equal(taken('a'), 3);
  assert.equal(taken('b'), 3);
});

test('bounds the number of callers, and evicts the least recently used', () => {
  const { rate, taken } = rateAt(1, 2);
  assert.equal(taken('a'), 1);
  assert.equal(taken('b'), 1);
  assert.equal(taken('a'), 0);
  assert.equal(taken('c'), 1);
  refusalOf(() => rate.take('a'));
  assert.equal(taken('b'), 1);
});

test('sets no rate when it is 0', () => {
  const { rate } = rateAt(0);
  for (let count = 0; count < 10_000; count += 1) rate.take('a');
});
