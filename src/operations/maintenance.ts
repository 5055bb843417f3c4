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
  summary: 'Describe the maintenance of a table: what is due, and what the last run did',
  permission: 'read',
  body: { kind: 'json', shape: EmptyBody },
  replies: [json(DescribeMaintenanceReply, 'The maintenance state of the table.')],
  async run({ table }, { maintenance, limits }) {
    const { condition, reasons, cutoff } = await maintenance.plan(table);
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
      would_do: { reasons, removes_versions: cutoff !== undefined },
      last_run: lastRun,
    });
  },
});

export const runMaintenance = defineTableOperation({
  id: 'run_table_maintenance',
  path: '/v1/table/:id/maintenance/run',
  summary: 'Run maintenance now: compaction, index refresh, cleanup of old versions',
  permission: 'manage',
  body: { kind: 'json', shape: EmptyBody },
  replies: [json(RunMaintenanceReply, 'The result of the run; or, with status 202, the job that runs it.')],
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
  summary: 'Pause the maintenance of a table',
  state: MAINTENANCE_PAUSED,
});

export const resumeMaintenance = defineStateChange({
  id: 'resume_table_maintenance',
  path: '/v1/table/:id/maintenance/resume',
  summary: 'Resume the maintenance of a table',
  state: MAINTENANCE_AUTOMATIC,
});

/** The state is a property of the table, so the catalog stores it, and every description of the table shows it. */
function defineStateChange({
  state,
  ...operation
}: Pick<Operation, 'id' | 'path' | 'summary'> & { readonly state: string }): Operation {
  return defineTableOperation({
    ...operation,
    permission: 'manage',
    body: { kind: 'json', shape: EmptyBody },
    replies: [json(MaintenanceStateReply, 'The maintenance state of the table.')],
    async run(request, { catalog }) {
      const { table } = request;
      const change = { table, commit: toCommitEntry(request), properties: { [MAINTENANCE_PROPERTY]: state } };
      const [recorded] = await catalog.journal.record([change], true);
      if (recorded === undefined) throw new ServiceError('TableNotFound', 'The table no longer exists.');
      const { transactionId, properties } = recorded;
      return objectReply<typeof MaintenanceStateReply>({ state, properties, transaction_id: transactionId });
    },
  });
}
