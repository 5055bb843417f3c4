import { setTimeout as sleep } from 'node:timers/promises';
import type { JobResult, StartedJob } from '../../jobs/jobs.ts';
import type { RequestFacts } from '../operation.ts';
import type { Services } from '../services.ts';

/** The result of a job, or `undefined` when it takes longer than the caller waits; the job goes on then. */
export async function waitForJob<Result extends JobResult>(
  job: StartedJob<Result>,
  { header }: Pick<RequestFacts, 'header'>,
  { limits }: Services,
): Promise<Result | undefined> {
  const seconds = readPreferredWait(header('prefer'), limits.jobs.answerSeconds);
  const done = new AbortController();
  try {
    return await Promise.race([job.outcome, sleep(seconds * 1000, undefined, { signal: done.signal })]);
  } finally {
    done.abort();
  }
}

/** RFC 7240, sections 4.1 and 4.3: `respond-async` alone means not at all, `wait=10` ten seconds, but never longer. */
export function readPreferredWait(prefer: string | undefined, secondsMax: number): number {
  const preferences = (prefer ?? '').split(',').map((part) => part.trim().toLowerCase());
  const wait = preferences
    .map((part) => /^wait\s*=\s*"?(\d{1,9})"?$/.exec(part)?.[1])
    .find((found) => found !== undefined);
  if (wait !== undefined) return Math.min(Number(wait), secondsMax);
  return preferences.includes('respond-async') ? 0 : secondsMax;
}
