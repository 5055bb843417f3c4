import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countQueries } from '../../src/tuning/tuner.ts';

test('the longer an index took to build, the more queries measure it', () => {
  assert.equal(countQueries(2000), 40);
  assert.equal(countQueries(10_000), 100);
  assert.equal(countQueries(60_000), 200);
});
