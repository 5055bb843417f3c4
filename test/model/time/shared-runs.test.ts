import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedRuns } from '../../../src/model/time/shared-runs.ts';

function open() {
  const ends: { resolve: (value: number) => void; reject: (error: Error) => void }[] = [];
  const runs = new SharedRuns(async () => new Promise<number>((resolve, reject) => ends.push({ resolve, reject })));
  const begun = async (count: number): Promise<void> => {
    while (ends.length < count) await new Promise(setImmediate);
  };
  return { runs, ends, begun };
}

test('calls that come during a run share the next one', async () => {
  const { runs, ends, begun } = open();
  const first = runs.run();
  await begun(1);
  const later = [runs.run(), runs.run()];
  await new Promise(setImmediate);
  assert.equal(ends.length, 1);
  ends[0]?.resolve(1);
  assert.equal(await first, 1);
  await begun(2);
  ends[1]?.resolve(2);
  assert.deepEqual(await Promise.all(later), [2, 2]);
});

test('a failed run fails for its callers only', async () => {
  const { runs, ends, begun } = open();
  const first = runs.run();
  await begun(1);
  const second = runs.run();
  ends[0]?.reject(new Error('full'));
  await assert.rejects(first, /full/);
  await begun(2);
  ends[1]?.resolve(2);
  assert.equal(await second, 2);
});

test('is settled when the runs that were requested have ended, however', async () => {
  const { runs, ends, begun } = open();
  const first = runs.run();
  await begun(1);
  const second = runs.run();
  let isSettled = false;
  const settled = runs.settled().then(() => (isSettled = true));
  ends[0]?.resolve(1);
  await first;
  await begun(2);
  assert.equal(isSettled, false);
  ends[1]?.reject(new Error('full'));
  await assert.rejects(second, /full/);
  await settled;
});
