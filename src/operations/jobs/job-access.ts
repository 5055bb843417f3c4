import { ServiceError } from '../../errors/service-error.ts';
import type { Job } from '../../jobs/jobs.ts';
import { isPermitted } from '../../model/caller.ts';
import { formatPath, quoteForMessage } from '../../model/identifier.ts';
import type { JobReply } from '../../wire/jobs.ts';
import type { RequestFacts } from '../operation.ts';
import type { Services } from '../services.ts';

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
