import type { MaintenanceState } from '../../maintenance/maintenance.ts';
import { DescribeMaintenanceReply, MaintenanceBody } from '../../wire/maintenance.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';

export const describeMaintenance = defineTableOperation({
  id: 'describe_table_maintenance',
  methods: ['POST'],
  path: '/v1/table/:id/maintenance/describe',
  summary: 'Tell in which order a table is, what a run of maintenance would do, and what the last one did',
  permission: 'read',
  body: { kind: 'json', shape: MaintenanceBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: DescribeMaintenanceReply, description: 'The state.' }],
  statuses: [],
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
