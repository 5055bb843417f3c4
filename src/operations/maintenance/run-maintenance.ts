import { MaintenanceBody, RunMaintenanceReply } from '../../wire/maintenance.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import { readPreferredWait } from '../preferred-wait.ts';
import type { Services } from '../services.ts';
import { waitFor } from '../wait-for.ts';

export const runMaintenance = defineTableOperation({
  id: 'run_table_maintenance',
  methods: ['POST'],
  path: '/v1/table/:id/maintenance/run',
  summary: 'Put a table in order now: merge fragments, refresh indexes, remove old versions',
  permission: 'manage',
  body: { kind: 'json', shape: MaintenanceBody },
  query: DelimiterQuery,
  replies: [
    {
      mediaType: 'application/json',
      shape: RunMaintenanceReply,
      description: 'What was done; or, with status 202, the job that does it.',
    },
  ],
  statuses: [],
  run,
});

async function run(request: TableRequest<MaintenanceBody>, services: Services): Promise<Reply> {
  const { table, caller } = request;
  const job = services.maintenance.run(table, caller.id);
  const seconds = readPreferredWait(request.header('prefer'), services.limits.jobs.answerSeconds);
  const result = await waitFor(job.outcome, seconds);
  if (result === undefined) {
    return { kind: 'object', status: 202, body: { job_id: job.id, job_state: 'IN_PROGRESS' } };
  }
  const reply: RunMaintenanceReply = {
    job_id: job.id,
    job_state: 'DONE',
    result: { ...result, reasons: [...result.reasons] },
  };
  return { kind: 'object', body: reply };
}
