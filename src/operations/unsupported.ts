import { Type } from 'typebox';
import { ServiceError } from '../errors/service-error.ts';
import { requestBody } from '../wire/shapes.ts';
import { defineFor, json } from './operation.ts';
import type { Operation } from './operation.ts';

/** An operation of the public descriptions that is not offered here; the caller reads the reason. */
interface Unsupported extends Pick<Operation, 'id' | 'path'> {
  readonly reason: string;
  /** A table when absent. */
  readonly about?: 'table' | 'new-table' | 'database';
  /** `write` when absent. */
  readonly permission?: 'read' | 'write';
}

const CLIENT_COMMIT = 'Versions are made by writes that the service itself commits, never by clients.';
const BACKFILL = 'Backfills fill columns that functions compute, and the service keeps no functions.';
const VIEW = 'Materialized views need workers that run queries and functions, which the service has not.';
const LSM = 'Writes go to the table at once; there is no write-ahead tree in front of it.';
const BRANCH_JOIN = 'The service neither compares nor joins branches.';

export const UNSUPPORTED: readonly Unsupported[] = [
  { id: 'create_table_version', path: '/v1/table/:id/version/create', reason: CLIENT_COMMIT },
  {
    id: 'batch_create_table_versions',
    path: '/v1/table/version/batch-create',
    about: 'database',
    reason: CLIENT_COMMIT,
  },
  { id: 'batch_commit_tables', path: '/v1/table/batch-commit', about: 'database', reason: CLIENT_COMMIT },
  { id: 'alter_table_backfill_columns', path: '/v1/table/:id/backfill_column', reason: BACKFILL },
  { id: 'create_materialized_view', path: '/v1/materialized_view/:id/create', about: 'new-table', reason: VIEW },
  { id: 'refresh_materialized_view', path: '/v1/materialized_view/:id/refresh', reason: VIEW },
  { id: 'set_lsm_write_spec', path: '/v1/table/:id/set_lsm_write_spec', reason: LSM },
  { id: 'unset_lsm_write_spec', path: '/v1/table/:id/unset_lsm_write_spec', reason: LSM },
  { id: 'get_lsm_write_spec', path: '/v1/table/:id/get_lsm_write_spec', permission: 'read', reason: LSM },
  { id: 'get_lsm_stats', path: '/v1/table/:id/get_lsm_stats', permission: 'read', reason: LSM },
  { id: 'flush_lsm', path: '/v1/table/:id/flush_lsm', reason: LSM },
  { id: 'compact_lsm', path: '/v1/table/:id/compact_lsm', reason: LSM },
  { id: 'diff_table_branches', path: '/v1/table/:id/branches/diff', permission: 'read', reason: BRANCH_JOIN },
  { id: 'merge_table_branches', path: '/v1/table/:id/branches/merge', reason: BRANCH_JOIN },
  { id: 'cherry_pick_table_branch', path: '/v1/table/:id/branches/cherry_pick', reason: BRANCH_JOIN },
];

/** They check permissions like any other operation, before they refuse. */
export const UNSUPPORTED_OPERATIONS: readonly Operation[] = UNSUPPORTED.map(toOperation);

function toOperation({ id, path, reason, about = 'table', permission = 'write' }: Unsupported): Operation {
  return defineFor(about)({
    id,
    path,
    summary: `Not offered: ${reason}`,
    permission,
    body: { kind: 'json', shape: requestBody({}, { additionalProperties: true }) },
    replies: [json(Type.Object({}), 'Never.')],
    async run() {
      throw new ServiceError('Unsupported', 'This operation is not offered by this service.', { hint: reason });
    },
  });
}
