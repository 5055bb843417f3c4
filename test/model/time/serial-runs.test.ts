import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SerialRuns } from '../../../src/model/time/serial-runs.ts';

test('runs work of one key in order, also after a failure, and that of others meanwhile', async () => {
  const runs = new SerialRuns();
  const order: string[] = [];
  const ends: ((error: Error) => void)[] = [];
  const first = runs.run('a', async () => new Promise<never>((_resolve, reject) => ends.push(reject)));
  const second = runs.run('a', async () => order.push('a'));
  await runs.run('b', async () => order.push('b'));
  assert.deepEqual(order, ['b']);
  ends[0]?.(new Error('failed'));
  await assert.rejects(first, /failed/);
  await second;
  assert.deepEqual(order, ['b', 'a']);
});
