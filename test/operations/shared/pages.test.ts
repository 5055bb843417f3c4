import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectPages } from '../../../src/operations/shared/pages.ts';

const read = (entries: number) => async (last: number | undefined, limit: number) =>
  Array.from({ length: entries }, (_, index) => index)
    .filter((entry) => entry > (last ?? -1))
    .slice(0, limit);

for (const [entries, limit] of [
  [0, 10],
  [999, 5000],
  [1000, 1000],
  [1000, 1001],
  [2500, 2001],
  [3000, 3000],
  [3001, 3000],
] as const) {
  test(`gives the first ${limit} of ${entries} entries, each once, in order`, async () => {
    const expected = await read(entries)(undefined, limit);
    assert.deepEqual(await collectPages(limit, read(entries)), expected);
  });
}
