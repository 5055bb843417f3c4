import { requireInteger } from '../../guard/numbers.ts';
import { formatPath } from '../../model/identifier.ts';
import { ListJobsBody, ListJobsReply } from '../../wire/jobs.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { defineDatabaseOperation } from '../operation.ts';
import type { DatabaseRequest, Reply } from '../operation.ts';
import type { Services } from '../services.ts';
import { isReadable } from './job-access.ts';

export const listJobs = defineDatabaseOperation({
  id: 'list_jobs',
  methods: ['POST'],
  path: '/v1/jobs/list',
  summary: 'List the jobs of a database, newest first',
  permission: 'see',
  body: { kind: 'json', shape: ListJobsBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: ListJobsReply, description: 'Jobs of tables that can be read.' }],
  statuses: [],
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
