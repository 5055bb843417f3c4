import type { JobReply } from '../wire/jobs.ts';
import type { ApiClient } from './api-client.ts';

export async function describeJob(client: ApiClient, id: string, signal?: AbortSignal): Promise<JobReply> {
  return client.json('/v1/jobs/describe', { json: { job_id: id }, signal });
}

export async function cancelJob(client: ApiClient, id: string): Promise<void> {
  await client.json('/v1/jobs/cancel', { json: { job_id: id } });
}

export interface Following {
  /** Called with every answer, the last one too. */
  readonly onProgress?: (job: JobReply) => void;
  readonly signal?: AbortSignal;
}

const FIRST_WAIT_MILLISECONDS = 50;
const WAIT_MILLISECONDS_MAX = 1000;

/** Asks until the job has ended, ever less often; the server bounds how long a job may take. */
export async function waitForJob(client: ApiClient, id: string, following: Following = {}): Promise<JobReply> {
  for (let wait = FIRST_WAIT_MILLISECONDS; ; wait = Math.min(wait * 1.5, WAIT_MILLISECONDS_MAX)) {
    const job = await describeJob(client, id, following.signal);
    following.onProgress?.(job);
    if (job.job_state !== 'IN_PROGRESS') return job;
    await new Promise((resolve) => setTimeout(resolve, wait));
    following.signal?.throwIfAborted();
  }
}
