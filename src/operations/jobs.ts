import { requireInteger } from '../guard/numbers.ts';
import { formatPath, quoteForMessage } from '../model/identifier.ts';
import { ListJobsBody, ListJobsReply, JobBody, JobReply } from '../wire/jobs.ts';
import { defineDatabaseOperation, json } from './operation.ts';
import type { DatabaseRequest, Reply, RequestFacts } from './operation.ts';
import type { Services } from './services.ts';
import { isPermitted } from '../model/access.ts';
import { notPermitted } from '../model/refusals.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { Job } from '../jobs/jobs.ts';

export const listJobs = defineDatabaseOperation({
  id: 'list_jobs',
  path: '/v1/jobs/list',
  summary: 'List the jobs of a database, newest first',
  permission: 'see',
  body: { kind: 'json', shape: ListJobsBody },
  replies: [json(ListJobsReply, 'Jobs of tables that can be read.')],
  run: list,
});

async function list(request: DatabaseRequest<ListJobsBody>, services: Services): Promise<Reply> {
  const { body, delimiter } = request;
  const { pageSizeMax } = services.limits.http;
  const limit = requireInteger(body.limit ?? pageSizeMax, { field: 'limit', minimum: 1, maximum: pageSizeMax });
  const readable = services.jobs.list(request.database.id).filter((job) => isReadable(job, request));
  // The token is the last id of the page before; a job that was forgotten meanwhile starts the list anew.
  const start = readable.findIndex(({ id }) => id === body.page_token) + 1;
  const page = readable.slice(start, start + limit);
  const last = page.at(-1);
  const reply: ListJobsReply = {
    jobs: page.map(({ id, subject, state, createdAt }) => ({
      job_id: id,
      table: formatPath(subject.table, delimiter),
      job_type: subject.kind,
      state,
      created_at_millis: createdAt,
    })),
    ...(readable.length > start + limit && last !== undefined ? { page_token: last.id } : {}),
  };
  return { kind: 'object', body: reply };
}

export const cancelJob = defineDatabaseOperation({
  id: 'cancel_job',
  path: '/v1/jobs/cancel',
  summary: 'Cancel a job that waits, or ask one that runs to stop',
  permission: 'see',
  body: { kind: 'json', shape: JobBody },
  replies: [json(JobReply, 'The job as it is now.')],
  statuses: [404],
  run: cancel,
});

async function cancel(request: DatabaseRequest<JobBody>, services: Services): Promise<Reply> {
  const job = requireJob(request.body.job_id, request, services);
  if (!isPermitted(request.caller, 'write', request.database.name, job.subject.table)) throw notPermitted('write');
  return { kind: 'object', body: toJobReply(services.jobs.cancel(job.id) ?? job, request) };
}

export const describeJob = defineDatabaseOperation({
  id: 'describe_job',
  path: '/v1/jobs/describe',
  summary: 'Describe a job: state, phase, result or failure',
  permission: 'see',
  body: { kind: 'json', shape: JobBody },
  replies: [json(JobReply, 'The job.')],
  statuses: [404],
  run: async (request, services) => {
    const job = requireJob(request.body.job_id, request, services);
    return { kind: 'object', body: toJobReply(job, request) };
  },
});

/** A job is shown to those who may read its table. */
export function isReadable(job: Job, { caller, database }: RequestFacts): boolean {
  return job.subject.databaseId === database.id && isPermitted(caller, 'read', database.name, job.subject.table);
}

export function requireJob(id: string, request: RequestFacts, services: Services): Job {
  const job = services.jobs.find(id);
  if (job !== undefined && isReadable(job, request)) return job;
  throw new ServiceError('TransactionNotFound', `The job ${quoteForMessage(id)} was not found.`, {
    hint: 'Jobs are remembered until the service starts again, and the oldest are forgotten.',
  });
}

export function toJobReply(job: Job, { delimiter }: RequestFacts): JobReply {
  const { id, subject, state, phase, isCancelRequested, createdAt, endedAt, result, failure } = job;
  return {
    job_id: id,
    job_type: subject.kind,
    job_state: state,
    table: formatPath(subject.table, delimiter),
    phase,
    cancel_requested: isCancelRequested,
    creation_ms: createdAt,
    spec: { ...subject.spec },
    ...(endedAt === undefined ? {} : { end_ms: endedAt }),
    ...(result === undefined ? {} : { result: { ...result } }),
    ...(failure === undefined
      ? {}
      : { failure: { phase: failure.phase, message: failure.message, retryable: failure.isRetryable } }),
  };
}
