import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FailedAttempts } from '../../../src/auth/issuer/failed-attempts.ts';

function make(sourcesMax = 10): { attempts: FailedAttempts; advance: (seconds: number) => void } {
  let now = 1_000_000;
  const attempts = new FailedAttempts(2, { sourcesMax, now: () => now });
  return {
    attempts,
    advance: (seconds) => {
      now += seconds * 1000;
    },
  };
}

test('a source waits after its last allowed failure, until the window has passed', () => {
  const { attempts, advance } = make();
  attempts.fail('a');
  assert.equal(attempts.waitSeconds('a'), 0);
  advance(20);
  attempts.fail('a');
  assert.equal(attempts.waitSeconds('a'), 40);
  assert.equal(attempts.waitSeconds('b'), 0);
  advance(39.9);
  assert.equal(attempts.waitSeconds('a'), 1);
  advance(0.1);
  assert.equal(attempts.waitSeconds('a'), 0);
});

test('a later window counts from its own first failure', () => {
  const { attempts, advance } = make();
  attempts.fail('a');
  advance(61);
  attempts.fail('a');
  assert.equal(attempts.waitSeconds('a'), 0);
  attempts.fail('a');
  assert.equal(attempts.waitSeconds('a'), 60);
});

test('only so many sources are remembered: the one that failed longest ago goes', () => {
  const { attempts } = make(2);
  for (const source of ['a', 'a', 'b', 'b', 'c', 'c']) attempts.fail(source);
  assert.equal(attempts.waitSeconds('a'), 0);
  assert.ok(attempts.waitSeconds('b') > 0 && attempts.waitSeconds('c') > 0);
});
