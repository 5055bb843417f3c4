import type { JobReply } from '../wire/jobs.ts';
import type { ApiClient } from './api-client.ts';

/** Lets an operation return its job at once instead of waiting for the result. */
export const RESPOND_ASYNC = { headers: { prefer: 'respond-async' } };

export async function cancelJob(client: ApiClient, id: string): Promise<void> {
  await client.json('/v1/jobs/cancel', { json: { job_id: id } });
}

export interface WaitOptions {
  /** Called with every reply, the last one too. */
  readonly onProgress?: (job: JobReply) => void;
  readonly signal?: AbortSignal;
}

const FIRST_WAIT_MILLISECONDS = 50;
const WAIT_MILLISECONDS_MAX = 1000;

/** Polls until the job has ended, ever less often; the server limits how long a job may run. */
export async function waitForJob(client: ApiClient, id: string, options: WaitOptions = {}): Promise<JobReply> {
  const { onProgress, signal } = options;
  for (let wait = FIRST_WAIT_MILLISECONDS; ; wait = Math.min(wait * 1.5, WAIT_MILLISECONDS_MAX)) {
    const job = await client.json<JobReply>('/v1/jobs/describe', { json: { job_id: id }, signal });
    onProgress?.(job);
    if (job.job_state !== 'IN_PROGRESS') return job;
    await new Promise((resolve) => setTimeout(resolve, wait));
    signal?.throwIfAborted();
  }
}
