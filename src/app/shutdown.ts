import { setTimeout as sleep } from 'node:timers/promises';
import type { WriteGate } from '../coordination/write-gate.ts';
import type { Load } from '../http/admission/load.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { Maintenance } from '../maintenance/maintenance.ts';
import type { Writes } from '../writes/writes.ts';

export interface WorkInFlight {
  readonly load: Load;
  readonly jobs: Jobs;
  readonly maintenance: Maintenance;
  readonly writes: Writes;
  readonly writeGate: WriteGate;
}

const COMMIT_GRACE_SECONDS = 5;
const POLL_MILLISECONDS = 20;

/**
 * Lets requests and jobs finish. At the deadline no write begins any more, jobs stop where that is safe, and only commits
 * that are running are still waited for. What is left then is abandoned: it has committed nothing.
 */
export async function finishWork(work: WorkInFlight, drainSeconds: number): Promise<void> {
  const { load, jobs, maintenance, writes, writeGate } = work;
  void maintenance.close();
  const finished = load.inFlight.whenIdle().then(async () => jobs.drain());
  if (await endsWithin(drainSeconds, finished)) return;
  writeGate.close('the server has restarted');
  jobs.interrupt();
  await endsWithin(COMMIT_GRACE_SECONDS, whenNothingIsWritten(writes));
}

async function endsWithin(seconds: number, work: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController();
  const late = sleep(seconds * 1000, false, { signal: timer.signal }).catch(() => false);
  const isInTime = await Promise.race([work.then(() => true), late]);
  timer.abort();
  return isInTime;
}

async function whenNothingIsWritten(writes: Writes): Promise<void> {
  while (writes.counts().inFlight > 0) await sleep(POLL_MILLISECONDS);
}
