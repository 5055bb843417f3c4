import { Type } from 'typebox';
import { ServiceError } from '../errors/service-error.ts';
import { requestBody } from '../wire/shapes.ts';
import { defineDatabaseOperation, defineNewTableOperation, defineTableOperation, json } from './operation.ts';
import type { Operation } from './operation.ts';

const DEFINE = {
  table: defineTableOperation,
  'new-table': defineNewTableOperation,
  database: defineDatabaseOperation,
} as const;

/** An operation of the public descriptions that is not offered here; the caller reads the reason. */
interface Unsupported extends Pick<Operation, 'id' | 'path' | 'permission'> {
  readonly about: keyof typeof DEFINE;
  readonly reason: string;
}

const CLIENT_COMMIT = {
  permission: 'write',
  reason: 'Versions are made by writes that the service itself commits, never by clients.',
} as const;
const BACKFILL = {
  permission: 'write',
  reason: 'Backfills fill columns that functions compute, and the service keeps no functions.',
} as const;
const MATERIALIZED_VIEW = {
  permission: 'write',
  reason: 'Materialized views need workers that run queries and functions, which the service has not.',
} as const;
const LSM_WRITE = {
  about: 'table',
  permission: 'write',
  reason: 'Writes go to the table at once; there is no write-ahead tree in front of it.',
} as const;
const LSM_READ = { ...LSM_WRITE, permission: 'read' } as const;
const BRANCH_JOIN = {
  about: 'table',
  permission: 'write',
  reason: 'The storage engine neither compares nor joins branches.',
} as const;

export const UNSUPPORTED: readonly Unsupported[] = [
  { id: 'create_table_version', path: '/v1/table/:id/version/create', about: 'table', ...CLIENT_COMMIT },
  { id: 'batch_create_table_versions', path: '/v1/table/version/batch-create', about: 'database', ...CLIENT_COMMIT },
  { id: 'batch_commit_tables', path: '/v1/table/batch-commit', about: 'database', ...CLIENT_COMMIT },
  { id: 'alter_table_backfill_columns', path: '/v1/table/:id/backfill_column', about: 'table', ...BACKFILL },
  {
    id: 'create_materialized_view',
    path: '/v1/materialized_view/:id/create',
    about: 'new-table',
    ...MATERIALIZED_VIEW,
  },
  { id: 'refresh_materialized_view', path: '/v1/materialized_view/:id/refresh', about: 'table', ...MATERIALIZED_VIEW },
  { id: 'set_lsm_write_spec', path: '/v1/table/:id/set_lsm_write_spec', ...LSM_WRITE },
  { id: 'unset_lsm_write_spec', path: '/v1/table/:id/unset_lsm_write_spec', ...LSM_WRITE },
  { id: 'get_lsm_write_spec', path: '/v1/table/:id/get_lsm_write_spec', ...LSM_READ },
  { id: 'get_lsm_stats', path: '/v1/table/:id/get_lsm_stats', ...LSM_READ },
  { id: 'flush_lsm', path: '/v1/table/:id/flush_lsm', ...LSM_WRITE },
  { id: 'compact_lsm', path: '/v1/table/:id/compact_lsm', ...LSM_WRITE },
  { id: 'diff_table_branches', path: '/v1/table/:id/branches/diff', ...BRANCH_JOIN, permission: 'read' },
  { id: 'merge_table_branches', path: '/v1/table/:id/branches/merge', ...BRANCH_JOIN },
  { id: 'cherry_pick_table_branch', path: '/v1/table/:id/branches/cherry_pick', ...BRANCH_JOIN },
];

/** They check permissions like any other operation, before they refuse. */
export const UNSUPPORTED_OPERATIONS: readonly Operation[] = UNSUPPORTED.map(toOperation);

function toOperation({ id, path, about, permission, reason }: Unsupported): Operation {
  return DEFINE[about]({
    id,
    path,
    summary: `Not offered: ${reason}`,
    permission,
    body: { kind: 'json', shape: requestBody({}, { additionalProperties: true }) },
    replies: [json(Type.Object({}), 'Never.')],
    statuses: [406],
    async run() {
      throw new ServiceError('Unsupported', 'This operation is not offered by this service.', { hint: reason });
    },
  });
}
