import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { StepFaults } from '../../trust/step-faults.ts';
import { FAULTS_VARIABLE, Faults } from '../support/faults.ts';

function open(t: TestContext): { faults: Faults; folder: string } {
  const faults = Faults.open();
  t.after(async () => faults.close());
  return { faults, folder: faults.env[FAULTS_VARIABLE] ?? '' };
}

test('a sync through the disk port fails with the given error at the given occurrence, and only there', (t) => {
  const { faults, folder } = open(t);
  const steps = new StepFaults(folder);
  const fault = faults.set({ action: 'fail', calls: ['disk'], paths: ['/data/'], error: 'ENOSPC', skip: 1 });
  steps.reach('disk', '/data/a');
  steps.reach('disk', '/versions/b');
  assert.throws(() => steps.reach('disk', '/data/b'), { code: 'ENOSPC' });
  steps.reach('disk', '/data/c');
  assert.deepEqual([fault.matched(), fault.acted()], [3, 1]);
});

test('a process is killed at a step once: the next one passes', (t) => {
  const { faults, folder } = open(t);
  const kill = faults.set({ action: 'kill', calls: ['step.commit'] });
  const module = new URL('../../trust/step-faults.js', import.meta.url).href;
  const script = `import { StepFaults } from '${module}'; new StepFaults('${folder}').reach('step.commit');`;
  const run = (): string | null => spawnSync(process.execPath, ['--input-type=module', '-e', script]).signal;
  assert.deepEqual([run(), run(), kill.matched()], ['SIGKILL', null, 2]);
});
