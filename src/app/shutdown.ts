import { setTimeout as sleep } from 'node:timers/promises';
import { endsWithin } from '../model/time/ends-within.ts';
import type { AppParts } from './parts.ts';

const COMMIT_GRACE_SECONDS = 5;
const POLL_MILLISECONDS = 20;

/**
 * Lets requests and jobs finish. After the deadline no more writes begin, jobs stop where that is safe, and only
 * running commits are waited for. Everything else is abandoned: it has committed nothing.
 */
export async function finishWork(parts: AppParts, drainSeconds: number): Promise<void> {
  const { load, jobs, maintenance, writes, writeGate, leases, forwarder } = parts;
  void maintenance.close();
  parts.viewSchedule.close();
  // Listeners continue on another node, or after the restart, after the last event that they received.
  parts.commitFeed.close();
  void parts.webhooks.close();
  jobs.handOver();
  // Releases the tables of this node to others, if there may be any, as soon as its writes have ended; long reads may
  // continue. Without the catalog, the tables are released when the lease ends.
  const released =
    forwarder === undefined ? undefined : leases?.release(async () => whenNothingIsWritten(writes)).catch(() => {});
  const finished = Promise.all([load.inFlight.whenIdle().then(async () => jobs.drain()), released]);
  if (await endsWithin(drainSeconds, finished)) return;
  writeGate.close('the server has restarted');
  jobs.interrupt();
  await endsWithin(COMMIT_GRACE_SECONDS, whenNothingIsWritten(writes));
}

async function whenNothingIsWritten(writes: AppParts['writes']): Promise<void> {
  while (writes.idempotency.runningCount > 0 || writes.queues.running > 0) await sleep(POLL_MILLISECONDS);
}
