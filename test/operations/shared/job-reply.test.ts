import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPreferredWait } from '../../../src/operations/shared/job-reply.ts';

test('a caller without a preference waits as long as the service allows', () => {
  for (const prefer of [undefined, '', 'return=minimal', 'wait=soon']) assert.equal(readPreferredWait(prefer, 30), 30);
});

test('respond-async waits not at all, or as long as it says', () => {
  assert.equal(readPreferredWait('respond-async', 30), 0);
  assert.equal(readPreferredWait('Respond-Async, wait=10', 30), 10);
  assert.equal(readPreferredWait('wait = "5"', 30), 5);
});

test('no caller waits longer than the service allows', () => {
  assert.equal(readPreferredWait('wait=9999', 30), 30);
});
