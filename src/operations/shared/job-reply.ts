import { setTimeout as sleep } from 'node:timers/promises';
import type { JobResult, StartedJob } from '../../jobs/jobs.ts';
import type { Reply, RequestFacts } from '../operation.ts';
import type { Services } from '../services.ts';

type Progress = { readonly job_id: string; readonly job_state: 'DONE' | 'IN_PROGRESS' };

/** Replies with the result of a job, or with 202 if it takes longer than the caller waits; the job then continues. */
export async function replyToJob<Result extends JobResult>(
  { id, outcome, recorded }: StartedJob<Result>,
  { header }: Pick<RequestFacts, 'header'>,
  { limits }: Services,
  toReply: (progress: Progress, result: Result | undefined) => Reply,
): Promise<Reply> {
  const seconds = readPreferredWait(header('prefer'), limits.jobs.answerSeconds);
  const waiting = new AbortController();
  try {
    const result = await Promise.race([outcome, sleep(seconds * 1000, undefined, waiting)]);
    if (result !== undefined) return toReply({ job_id: id, job_state: 'DONE' }, result);
    // The caller may ask any node for the job.
    await recorded;
    return { ...toReply({ job_id: id, job_state: 'IN_PROGRESS' }, result), status: 202 };
  } finally {
    waiting.abort();
  }
}

/**
 * RFC 7240, sections 4.1 and 4.3: `respond-async` alone means not to wait, `wait=10` ten seconds, up to the maximum.
 */
export function readPreferredWait(prefer: string | undefined, secondsMax: number): number {
  const preferences = (prefer ?? '').split(',').map((part) => part.trim().toLowerCase());
  const wait = preferences
    .map((part) => /^wait\s*=\s*"?(\d{1,9})"?$/.exec(part)?.[1])
    .find((found) => found !== undefined);
  if (wait !== undefined) return Math.min(Number(wait), secondsMax);
  return preferences.includes('respond-async') ? 0 : secondsMax;
}
