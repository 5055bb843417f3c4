import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'node:test';
import { loadConfig } from '../../src/config/load-config.ts';
import { startWorker, toWorkerEnvironment, toWorkerFlags } from '../../src/process/worker-process.ts';
import type { WorkerEnd } from '../../src/process/worker-process.ts';

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

test('a worker that cannot be started ends once', async (context) => {
  const loaded = loadConfig({ argv: [], env: {}, readFile: () => '' });
  assert.ok('config' in loaded);
  const { execPath } = process;
  context.after(() => {
    process.execPath = execPath;
  });
  process.execPath = '/no/such/node';
  const ends: WorkerEnd[] = [];
  await new Promise<void>((resolve) => {
    const onEnd = (end: WorkerEnd): void => {
      ends.push(end);
      resolve();
    };
    startWorker({ workerFile: 'worker.js', config: loaded.config, workerRestarts: 0, onMessage: () => {}, onEnd });
  });
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  assert.deepEqual(ends, [{ pid: 0, exitCode: undefined, signal: undefined }]);
});
