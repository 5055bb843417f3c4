import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** Far more than anything takes on a machine that is busy with other tests: only what never comes about fails. */
const SECONDS_MAX = 120;

export async function eventually(isTrue: () => Promise<boolean>, explain: () => string = () => ''): Promise<void> {
  const until = performance.now() + SECONDS_MAX * 1000;
  do {
    if (await isTrue()) return;
    await sleep(20);
  } while (performance.now() < until);
  assert.fail(`it never became true: ${explain()}`);
}
