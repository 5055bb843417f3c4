import { ServiceError } from '../errors/service-error.ts';
import type { Job, JobSummary } from '../jobs/jobs.ts';
import { isPermitted } from '../model/access.ts';
import { formatPath, quoteForMessage } from '../model/identifier.ts';
import { notPermitted } from '../model/refusals.ts';
import { JobBody, JobReply, ListJobsBody, ListJobsReply } from '../wire/jobs.ts';
import { defineDatabaseOperation, isBelowPrefix, json, objectReply, toShownPath } from './operation.ts';
import type { DatabaseRequest, Reply, RequestFacts } from './operation.ts';
import type { Services } from './services.ts';
import { cutPage, readPageSize, readPageToken, toPageToken } from './shared/pages.ts';

export const listJobs = defineDatabaseOperation({
  id: 'list_jobs',
  path: '/v1/jobs/list',
  summary: 'List jobs, newest first',
  permission: 'see',
  body: { kind: 'json', shape: ListJobsBody },
  replies: [json(ListJobsReply, 'Jobs of tables that the caller can read.')],
  async run(request, services) {
    const { body, database, delimiter } = request;
    const readable = (await services.jobs.list(database.id)).filter((job) => isReadable(job, request));
    const [at, after = ''] = readPageToken(body.page_token, 2) ?? [];
    const rest = at === undefined ? readable : readable.filter((job) => isBehind(job, Number(at), after));
    const limit = readPageSize(body.limit, services);
    const { entries, page_token } = cutPage(rest, limit, ({ id, createdAt }) => toPageToken([String(createdAt), id]));
    const jobs = entries.map(({ id, subject, state, createdAt }) => ({
      job_id: id,
      table: formatPath(toShownPath(request, subject.table), delimiter),
      job_type: subject.kind,
      state,
      created_at_millis: createdAt,
    }));
    return objectReply<typeof ListJobsReply>({ jobs, page_token });
  },
});

export const describeJob = defineDatabaseOperation({
  id: 'describe_job',
  path: '/v1/jobs/describe',
  summary: 'Describe a job: state, phase, result or error',
  permission: 'see',
  body: { kind: 'json', shape: JobBody },
  replies: [json(JobReply, 'The job.')],
  run: async (request, services) => replyWithJob(await requireJob(request, services), request),
});

export const cancelJob = defineDatabaseOperation({
  id: 'cancel_job',
  path: '/v1/jobs/cancel',
  summary: 'Cancel a job',
  permission: 'see',
  body: { kind: 'json', shape: JobBody },
  replies: [json(JobReply, 'The current state of the job.')],
  async run(request, services) {
    const job = await requireJob(request, services);
    if (!isPermitted(request.caller, 'write', request.database.name, job.subject.table)) throw notPermitted('write');
    return replyWithJob((await services.jobs.cancel(job.id)) ?? job, request);
  },
});

/** In list order, which still works if the last job of the previous page was removed. */
function isBehind({ id, createdAt }: JobSummary, at: number, after: string): boolean {
  return createdAt < at || (createdAt === at && id < after);
}

/** A job is visible to callers who may read its table. */
function isReadable({ subject }: JobSummary, request: RequestFacts): boolean {
  const { caller, database } = request;
  const isShown = subject.databaseId === database.id && isBelowPrefix(request, subject.table);
  return isShown && isPermitted(caller, 'read', database.name, subject.table);
}

async function requireJob(request: DatabaseRequest<JobBody>, services: Services): Promise<Job> {
  const id = request.body.job_id;
  const job = await services.jobs.find(id);
  if (job !== undefined && isReadable(job, request)) return job;
  throw new ServiceError('TransactionNotFound', `The job ${quoteForMessage(id)} was not found.`, {
    hint: 'Old jobs are removed. Without a PostgreSQL catalog, most jobs are removed when the server restarts.',
  });
}

function replyWithJob(job: Job, request: RequestFacts): Reply {
  const { delimiter } = request;
  const { subject, failure } = job;
  return objectReply<typeof JobReply>({
    job_id: job.id,
    job_type: subject.kind,
    job_state: job.state,
    table: formatPath(toShownPath(request, subject.table), delimiter),
    phase: job.phase,
    cancel_requested: job.isCancelRequested,
    creation_ms: job.createdAt,
    spec: subject.spec,
    end_ms: job.endedAt,
    result: job.result,
    failure: failure && { phase: failure.phase, message: failure.message, retryable: failure.isRetryable },
  });
}
