import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { toWorkerEnvironment, toWorkerFlags } from '../../src/process/worker-process.ts';

test('the worker keeps the memory that large blocks of the engine come from', () => {
  const environment = toWorkerEnvironment({ HOME: 'home' });
  assert.equal(environment['HOME'], 'home');
  assert.equal(environment['MALLOC_MMAP_THRESHOLD_'], '33554432');
  assert.equal(environment['MALLOC_TRIM_THRESHOLD_'], '134217728');
  assert.ok(Number(environment['MALLOC_ARENA_MAX']) >= 4);
});

test('this Node accepts all flags that the worker is started with', () => {
  const { status, stderr } = spawnSync(process.execPath, [...toWorkerFlags([]), '--eval', ''], { encoding: 'utf8' });
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
});

test("the operator's word on memory counts", () => {
  assert.equal(toWorkerEnvironment({ MALLOC_TRIM_THRESHOLD_: '1' })['MALLOC_TRIM_THRESHOLD_'], '1');
  const heap = '--initial-old-space-size=16';
  assert.equal(
    toWorkerFlags([heap]).findLast((flag) => flag.startsWith('--initial-old-space-size')),
    heap,
  );
});
