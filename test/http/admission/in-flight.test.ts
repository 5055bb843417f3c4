import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InFlight } from '../../../src/http/admission/in-flight.ts';

test('is idle when the last request has ended, not before', async () => {
  const inFlight = new InFlight();
  await inFlight.whenIdle();
  inFlight.begin();
  inFlight.begin();
  let idle = 0;
  const waits = [inFlight.whenIdle(), inFlight.whenIdle()].map(async (wait) => {
    await wait;
    idle += 1;
  });
  inFlight.end();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(idle, 0);
  inFlight.end();
  await Promise.all(waits);
  assert.equal(idle, 2);
});
