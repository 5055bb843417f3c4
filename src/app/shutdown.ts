import { setTimeout as sleep } from 'node:timers/promises';
import { endsWithin } from '../model/limits.ts';
import type { AppParts } from './parts.ts';

const COMMIT_GRACE_SECONDS = 5;
const POLL_MILLISECONDS = 20;

/**
 * Lets requests and jobs finish. At the deadline no write begins any more, jobs stop where that is safe, and only commits
 * that are running are still waited for. What is left then is abandoned: it has committed nothing.
 */
export async function finishWork(parts: AppParts, drainSeconds: number): Promise<void> {
  const { load, jobs, maintenance, writes, writeGate } = parts;
  void maintenance.close();
  const finished = load.inFlight.whenIdle().then(async () => jobs.drain());
  if (await endsWithin(drainSeconds, finished)) return;
  writeGate.close('the server has restarted');
  jobs.interrupt();
  await endsWithin(COMMIT_GRACE_SECONDS, whenNothingIsWritten(writes));
}

async function whenNothingIsWritten(writes: AppParts['writes']): Promise<void> {
  while (writes.idempotency.runningCount > 0) await sleep(POLL_MILLISECONDS);
}
