import assert from 'node:assert/strict';
import { test } from 'node:test';
import { restartWaitMilliseconds } from '../../src/process/restart-wait.ts';

test('doubles from 50 milliseconds to 2 seconds while workers die young', () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 8, 1000].map(restartWaitMilliseconds),
    [50, 100, 200, 400, 800, 1600, 2000, 2000, 2000],
  );
});

test('does not hold back the successor of a worker that had served', () => {
  assert.equal(restartWaitMilliseconds(0), 50);
});
