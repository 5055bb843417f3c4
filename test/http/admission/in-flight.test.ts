import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnderWay } from '../../../src/http/admission/in-flight.ts';

test('is idle when the last request has ended, not before', async () => {
  const underWay = new UnderWay();
  await underWay.whenIdle();
  underWay.begin();
  underWay.begin();
  let idle = 0;
  const waits = [underWay.whenIdle(), underWay.whenIdle()].map(async (wait) => {
    await wait;
    idle += 1;
  });
  underWay.end();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(idle, 0);
  underWay.end();
  await Promise.all(waits);
  assert.equal(idle, 2);
});
