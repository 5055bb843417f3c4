import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RateLimit } from '../../../src/http/admission/rate-limit.ts';
import { refusalOf } from '../../support/refusal.ts';

const MESSAGE = 'Too many requests.';

function rateAt(requestsPerSecond: number, subjectsMax = 100) {
  const clock = { milliseconds: 0 };
  const limit = new RateLimit({ subjectsMax, now: () => clock.milliseconds });
  const rate = { take: (caller: string) => limit.take(caller, requestsPerSecond, MESSAGE) };
  const taken = (caller: string): number => {
    for (let count = 0; ; count += 1) {
      try {
        assert.ok(rate.take(caller) < requestsPerSecond);
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
  assert.equal(refusal.message, MESSAGE);
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

test('says how many more requests may follow at once', () => {
  const { clock, rate } = rateAt(3);
  assert.deepEqual([rate.take('a'), rate.take('a'), rate.take('a')], [2, 1, 0]);
  clock.milliseconds += 1000;
  assert.equal(rate.take('a'), 2);
});

test('follows a rate that was changed', () => {
  const limit = new RateLimit({ now: () => 0 });
  assert.equal(limit.take('a', 100, MESSAGE), 99);
  assert.equal(limit.take('a', 2, MESSAGE), 1);
});
