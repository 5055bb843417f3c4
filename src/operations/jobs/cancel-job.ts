import { isPermitted } from '../../model/caller.ts';
import { notPermitted } from '../../model/refusals.ts';
import { JobBody, JobReply } from '../../wire/jobs.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { defineDatabaseOperation } from '../operation.ts';
import type { DatabaseRequest, Reply } from '../operation.ts';
import type { Services } from '../services.ts';
import { requireJob, toJobReply } from './job-access.ts';

export const cancelJob = defineDatabaseOperation({
  id: 'cancel_job',
  methods: ['POST'],
  path: '/v1/jobs/cancel',
  summary: 'Cancel a job that waits, or ask one that runs to stop',
  permission: 'see',
  body: { kind: 'json', shape: JobBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: JobReply, description: 'The job as it is now.' }],
  statuses: [404],
  run: cancel,
});

async function cancel(request: DatabaseRequest<JobBody>, services: Services): Promise<Reply> {
  const job = requireJob(request.body.job_id, request, services);
  if (!isPermitted(request.caller, 'write', request.database.name, job.subject.table)) throw notPermitted('write');
  return { kind: 'object', body: toJobReply(services.jobs.cancel(job.id) ?? job, request) };
}
