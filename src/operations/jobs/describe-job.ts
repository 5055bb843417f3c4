import { JobBody, JobReply } from '../../wire/jobs.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { defineDatabaseOperation } from '../operation.ts';
import { requireJob, toJobReply } from './job-access.ts';

export const describeJob = defineDatabaseOperation({
  id: 'describe_job',
  methods: ['POST'],
  path: '/v1/jobs/describe',
  summary: 'Describe a job: state, phase, result or failure',
  permission: 'see',
  body: { kind: 'json', shape: JobBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: JobReply, description: 'The job.' }],
  statuses: [404],
  run: async (request, services) => {
    const job = requireJob(request.body.job_id, request, services);
    return { kind: 'object', body: toJobReply(job, request) };
  },
});
