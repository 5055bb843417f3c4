import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Turns } from '../../src/engine/turns.ts';

test('runs so much at once, in the order of coming, and goes on after a failure', async () => {
  const turns = new Turns(2);
  const order: number[] = [];
  let running = 0;
  let most = 0;
  const runs = [0, 1, 2, 3, 4, 5].map(async (each) =>
    turns.run(async () => {
      running += 1;
      most = Math.max(most, running);
      order.push(each);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      if (each === 2) throw new Error('broken');
      return each;
    }),
  );
  const outcomes = await Promise.allSettled(runs);
  assert.deepEqual([most, running, order], [2, 0, [0, 1, 2, 3, 4, 5]]);
  assert.equal(outcomes.filter(({ status }) => status === 'rejected').length, 1);
});
