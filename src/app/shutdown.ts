import { setTimeout as sleep } from 'node:timers/promises';
import type { AppParts } from './parts.ts';

type RunningParts = Pick<AppParts, 'load' | 'jobs' | 'maintenance' | 'writes' | 'writeGate'>;

const COMMIT_GRACE_SECONDS = 5;
const POLL_MILLISECONDS = 20;

/**
 * Lets requests and jobs finish. At the deadline no write begins any more, jobs stop where that is safe, and only commits
 * that are running are still waited for. What is left then is abandoned: it has committed nothing.
 */
export async function finishWork(parts: RunningParts, drainSeconds: number): Promise<void> {
  const { load, jobs, maintenance, writes, writeGate } = parts;
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

async function whenNothingIsWritten(writes: RunningParts['writes']): Promise<void> {
  while (writes.idempotency.runningCount > 0) await sleep(POLL_MILLISECONDS);
}
