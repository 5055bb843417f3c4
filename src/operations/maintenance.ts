import { ServiceError } from '../errors/service-error.ts';
import { MAINTENANCE_AUTOMATIC, MAINTENANCE_PAUSED, MAINTENANCE_PROPERTY } from '../model/table.ts';
import { DescribeMaintenanceReply, MaintenanceStateReply, RunMaintenanceReply } from '../wire/maintenance.ts';
import { EmptyBody } from '../wire/shapes.ts';
import { defineTableOperation, json, objectReply } from './operation.ts';
import type { Operation } from './operation.ts';
import { toCommitEntry } from './shared/record-commit.ts';
import { replyToJob } from './shared/job-reply.ts';

export const describeMaintenance = defineTableOperation({
  id: 'describe_table_maintenance',
  path: '/v1/table/:id/maintenance/describe',
  summary: 'Tell in which order a table is, what a run of maintenance would do, and what the last one did',
  permission: 'read',
  body: { kind: 'json', shape: EmptyBody },
  replies: [json(DescribeMaintenanceReply, 'The state.')],
  async run({ table }, { maintenance, limits }) {
    const { condition, reasons, cutoffMilliseconds } = await maintenance.plan(table);
    const { isPaused, commits, lastRun } = maintenance.describe(table);
    const unpaused = limits.maintenance.runningMax === 0 ? 'off' : 'automatic';
    return objectReply<typeof DescribeMaintenanceReply>({
      state: isPaused ? 'paused' : unpaused,
      commits,
      version: condition.version,
      num_rows: condition.rows,
      num_fragments: condition.fragments,
      num_small_fragments: condition.smallFragments,
      num_deleted_rows: condition.deletedRows,
      total_bytes: condition.bytes,
      would_do: { reasons, removes_versions: cutoffMilliseconds !== undefined },
      last_run: lastRun,
    });
  },
});

export const runMaintenance = defineTableOperation({
  id: 'run_table_maintenance',
  path: '/v1/table/:id/maintenance/run',
  summary: 'Put a table in order now: merge fragments, refresh indexes, remove old versions',
  permission: 'manage',
  body: { kind: 'json', shape: EmptyBody },
  replies: [json(RunMaintenanceReply, 'What was done; or, with status 202, the job that does it.')],
  async run(request, services) {
    const job = services.maintenance.run(request.table, request.caller.id);
    return replyToJob(job, request, services, (progress, result) =>
      objectReply<typeof RunMaintenanceReply>({ ...progress, result }),
    );
  },
});

export const pauseMaintenance = defineStateChange({
  id: 'pause_table_maintenance',
  path: '/v1/table/:id/maintenance/pause',
  summary: 'Leave a table alone until maintenance is resumed, also after a restart',
  state: MAINTENANCE_PAUSED,
});

export const resumeMaintenance = defineStateChange({
  id: 'resume_table_maintenance',
  path: '/v1/table/:id/maintenance/resume',
  summary: 'Put a table in order again whenever it needs it',
  state: MAINTENANCE_AUTOMATIC,
});

/** The state is a property of the table: the catalog keeps it, and every description of the table shows it. */
function defineStateChange({
  state,
  ...operation
}: Pick<Operation, 'id' | 'path' | 'summary'> & { readonly state: string }): Operation {
  return defineTableOperation({
    ...operation,
    permission: 'manage',
    body: { kind: 'json', shape: EmptyBody },
    replies: [json(MaintenanceStateReply, 'The state.')],
    async run(request, { catalog }) {
      const { table } = request;
      const change = { table, commit: toCommitEntry(request), properties: { [MAINTENANCE_PROPERTY]: state } };
      const [recorded] = await catalog.journal.record([change], true);
      if (recorded === undefined) throw new ServiceError('TableNotFound', 'The table does not exist any more.');
      const { transactionId, properties } = recorded;
      return objectReply<typeof MaintenanceStateReply>({ state, properties, transaction_id: transactionId });
    },
  });
}
