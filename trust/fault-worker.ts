import { startApp } from '../src/app.ts';
import { DISK } from '../src/storage/sync/file-sync.ts';
import { runWorker } from '../src/process/worker.ts';
import { FAULTS_VARIABLE } from '../test/support/faults.ts';
import { StepFaults } from './step-faults.ts';

/** The worker of `fault-server.ts`: the real service, which can be killed at every step of a write. */
const faults = new StepFaults(process.env[FAULTS_VARIABLE] ?? '');

const disk: typeof DISK = {
  ...DISK,
  async sync(path) {
    faults.reach('disk', path);
    await DISK.sync(path);
  },
};

runWorker(async (config, start) =>
  startApp(config, { ...start, disk, onWriteStep: (step) => faults.reach(`step.${step}`) }),
);
