import { setTimeout as sleep } from 'node:timers/promises';
import { attempt } from './http.ts';
import type { HttpClient, Reply } from './http.ts';

type Headers = Readonly<Record<string, string>>;

const LOOKS_MAX = 200;
const LOOK_MILLISECONDS = 50;

/** Resolves when rows from before a computed column are filled: with 200, or with 503 if that failed. */
export async function fillColumn(
  client: HttpClient,
  table: string,
  column: string,
  headers: Headers = {},
): Promise<Reply> {
  return waitForJob(client, await client.post(`/v1/table/${table}/backfill_column`, { column }, headers));
}

/** The same for a view. */
export async function refreshView(client: HttpClient, view: string, headers: Headers = {}): Promise<Reply> {
  return waitForJob(client, await client.post(`/v1/materialized_view/${view}/refresh`, {}, headers));
}

async function waitForJob(client: HttpClient, started: Reply): Promise<Reply> {
  if (started.status !== 202) return started;
  for (let looks = 1; looks <= LOOKS_MAX; looks += 1) {
    // After a kill, the next worker continues the job.
    const reply = await attempt(client.post('/v1/jobs/describe', { job_id: started.json.job_id }));
    const state = reply?.status === 200 ? reply.json.job_state : 'IN_PROGRESS';
    if (reply !== undefined && state === 'DONE') return reply;
    if (reply !== undefined && state !== 'IN_PROGRESS') return { ...reply, status: 503 };
    await sleep(LOOK_MILLISECONDS);
  }
  return { ...started, status: 503 };
}
