import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import type { TestContext } from 'node:test';
import { startWatchdog } from '../../src/process/watchdog.ts';
import type { Watchdog } from '../../src/process/watchdog.ts';

function watch(context: TestContext): { readonly watchdog: Watchdog; readonly silences: () => number } {
  mock.timers.enable({ apis: ['setTimeout'] });
  context.after(() => mock.timers.reset());
  let count = 0;
  const onSilent = (): void => {
    count += 1;
  };
  return { watchdog: startWatchdog(8, onSilent), silences: () => count };
}

/** Second by second: a mocked timer that is set within a tick counts from the end of that tick. */
function pass(seconds: number): void {
  for (let second = 0; second < seconds; second += 1) mock.timers.tick(1000);
}

test('fires once, when nothing was heard for its time and one more check', (context) => {
  const { silences } = watch(context);
  pass(8);
  assert.equal(silences(), 0);
  pass(1);
  assert.equal(silences(), 1);
  pass(100);
  assert.equal(silences(), 1);
});

test('stays quiet while it hears something now and then', (context) => {
  const { watchdog, silences } = watch(context);
  for (let times = 0; times < 10; times += 1) {
    pass(7);
    watchdog.heard();
  }
  assert.equal(silences(), 0);
});

test('stays quiet after it was stopped', (context) => {
  const { watchdog, silences } = watch(context);
  pass(7);
  watchdog.stop();
  pass(100);
  assert.equal(silences(), 0);
});
