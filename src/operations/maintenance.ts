import type { MaintenanceState } from '../maintenance/maintenance.ts';
import {
  DescribeMaintenanceReply,
  MaintenanceBody,
  MaintenanceStateReply,
  RunMaintenanceReply,
} from '../wire/maintenance.ts';
import { defineTableOperation, json } from './operation.ts';
import type { Reply, TableRequest, Operation } from './operation.ts';
import type { Services } from './services.ts';
import { ServiceError } from '../errors/service-error.ts';
import { MAINTENANCE_AUTOMATIC, MAINTENANCE_PAUSED, MAINTENANCE_PROPERTY } from '../model/table.ts';
import { readPreferredWait, waitFor } from './shared/wait-for-job.ts';

export const describeMaintenance = defineTableOperation({
  id: 'describe_table_maintenance',
  path: '/v1/table/:id/maintenance/describe',
  summary: 'Tell in which order a table is, what a run of maintenance would do, and what the last one did',
  permission: 'read',
  body: { kind: 'json', shape: MaintenanceBody },
  replies: [json(DescribeMaintenanceReply, 'The state.')],
  run: describe,
});

async function describe({ table }: TableRequest<MaintenanceBody>, services: Services): Promise<Reply> {
  const { maintenance, limits } = services;
  const { condition, reasons, ageMilliseconds } = await maintenance.plan(table);
  const state = maintenance.describe(table);
  const { lastRun } = state;
  const reply: DescribeMaintenanceReply = {
    state: toStateName(state, limits.maintenance.runningMax),
    commits: state.commits,
    version: condition.version,
    num_rows: condition.rows,
    num_fragments: condition.fragments,
    num_small_fragments: condition.smallFragments,
    num_deleted_rows: condition.deletedRows,
    total_bytes: condition.bytes,
    would_do: { reasons: [...reasons], removes_versions: ageMilliseconds !== undefined },
    ...(lastRun === undefined ? {} : { last_run: { ...lastRun, reasons: [...lastRun.reasons] } }),
  };
  return { kind: 'object', body: reply };
}

function toStateName({ isPaused }: MaintenanceState, runningMax: number): string {
  if (isPaused) return 'paused';
  return runningMax === 0 ? 'off' : 'automatic';
}

export const pauseMaintenance = defineChange({
  id: 'pause_table_maintenance',
  path: '/v1/table/:id/maintenance/pause',
  summary: 'Leave a table alone until maintenance is resumed, also after a restart',
  state: MAINTENANCE_PAUSED,
});

export const resumeMaintenance = defineChange({
  id: 'resume_table_maintenance',
  path: '/v1/table/:id/maintenance/resume',
  summary: 'Put a table in order again whenever it needs it',
  state: MAINTENANCE_AUTOMATIC,
});

interface ChangeDefinition {
  readonly id: string;
  readonly path: string;
  readonly summary: string;
  readonly state: string;
}

/** The state is a property of the table, so that the catalog keeps it and every description of the table shows it. */
function defineChange({ id, path, summary, state }: ChangeDefinition): Operation {
  return defineTableOperation({
    id,
    path,
    summary,
    permission: 'manage',
    body: { kind: 'json', shape: MaintenanceBody },
    replies: [json(MaintenanceStateReply, 'The state.')],
    run: async ({ table, caller, requestId }, { catalog }) => {
      const commit = { operation: id, caller: caller.id, requestId, version: 0 };
      const change = { table, commit, properties: { [MAINTENANCE_PROPERTY]: state } };
      const [recorded] = await catalog.journal.record([change], true);
      if (recorded === undefined) throw new ServiceError('TableNotFound', 'The table does not exist any more.');
      const { transactionId, properties } = recorded;
      const reply: MaintenanceStateReply = { state, properties: { ...properties }, transaction_id: transactionId };
      return { kind: 'object', body: reply };
    },
  });
}

export const runMaintenance = defineTableOperation({
  id: 'run_table_maintenance',
  path: '/v1/table/:id/maintenance/run',
  summary: 'Put a table in order now: merge fragments, refresh indexes, remove old versions',
  permission: 'manage',
  body: { kind: 'json', shape: MaintenanceBody },
  replies: [json(RunMaintenanceReply, 'What was done; or, with status 202, the job that does it.')],
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
