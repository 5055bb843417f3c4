import { Type } from 'typebox';
import { ServiceError } from '../errors/service-error.ts';
import { requestBody } from '../wire/shapes.ts';
import { defineFor, defineTableOperation, json } from './operation.ts';
import type { Operation } from './operation.ts';

/** An operation of the public descriptions that is not offered here; the caller gets the reason. */
interface Unsupported extends Pick<Operation, 'id' | 'path'>, Partial<Pick<Operation, 'methods'>> {
  readonly reason: string;
  /** Default: a table. */
  readonly about?: 'table' | 'new-table' | 'namespace' | 'database';
  /** Default: `write`. */
  readonly permission?: 'read' | 'write';
}

const LSM = 'Writes commit to the table immediately; there is no LSM tree in front of it.';
const BRANCH_DIFF = 'Compare the rows of branches with diff_table.';
const BRANCH_JOIN = 'Branches cannot be merged; diff_table compares their rows.';
const EVENTS = 'Jobs have no event history; describe_job shows state, phase, result and error.';
const PAUSE = 'A job cannot be paused, only cancelled.';
const FUNCTIONS = 'The server stores no functions.';
const SECRETS = 'The server stores no secrets for functions.';
const SQL_VIEWS = 'The server stores no plain views; create a materialized view, or store the query in the client.';

export const UNSUPPORTED: readonly Unsupported[] = [
  { id: 'set_lsm_write_spec', path: '/v1/table/:id/set_lsm_write_spec', reason: LSM },
  { id: 'unset_lsm_write_spec', path: '/v1/table/:id/unset_lsm_write_spec', reason: LSM },
  { id: 'flush_lsm', path: '/v1/table/:id/flush_lsm', reason: LSM },
  { id: 'compact_lsm', path: '/v1/table/:id/compact_lsm', reason: LSM },
  { id: 'diff_table_branches', path: '/v1/table/:id/branches/diff', permission: 'read', reason: BRANCH_DIFF },
  { id: 'merge_table_branches', path: '/v1/table/:id/branches/merge', reason: BRANCH_JOIN },
  { id: 'cherry_pick_table_branch', path: '/v1/table/:id/branches/cherry_pick', reason: BRANCH_JOIN },
  { id: 'enable_rte', path: '/v1/table/:id/enable_rte', reason: LSM },
  { id: 'disable_rte', path: '/v1/table/:id/disable_rte', reason: LSM },
  { id: 'flush_rte', path: '/v1/table/:id/flush_rte', reason: LSM },
  { id: 'compact_rte', path: '/v1/table/:id/compact_rte', reason: LSM },
  { id: 'list_function_errors', path: '/v1/table/:id/errors', permission: 'read', reason: FUNCTIONS },
  { id: 'query_job_events', path: '/v1/jobs/query_events', about: 'database', permission: 'read', reason: EVENTS },
  { id: 'pause_job', path: '/v1/jobs/pause', about: 'database', reason: PAUSE },
  { id: 'resume_job', path: '/v1/jobs/resume', about: 'database', reason: PAUSE },
  ...unsupportedObject('function', FUNCTIONS, ['create', 'describe', 'drop']),
  ...unsupportedObject('secret', SECRETS, ['create', 'alter', 'describe', 'drop']),
  ...unsupportedObject('view', SQL_VIEWS, ['create', 'describe', 'drop']),
];

/** A kind of object other than tables, with a list in each namespace. */
function unsupportedObject(kind: string, reason: string, actions: readonly string[]): Unsupported[] {
  const own = actions.map((action) => ({ id: `${action}_${kind}`, path: `/v1/${kind}/:id/${action}` }));
  const list = { id: `list_${kind}s`, path: `/v1/namespace/:id/${kind}/list`, methods: ['GET'] as const };
  return [
    ...own.map((each) => ({ ...each, about: 'new-table' as const, reason })),
    { ...list, about: 'namespace', permission: 'read', reason },
  ];
}

const ANYTHING = { kind: 'json', shape: requestBody({}, { additionalProperties: true }) } as const;

/** These check permissions like any other operation before they refuse. */
export const UNSUPPORTED_OPERATIONS: readonly Operation[] = UNSUPPORTED.map(toOperation);

/** The names that releases of the LanceDB client have for a write buffer, and the field that they read. */
const QUESTIONS = [
  ['get_lsm_write_spec', 'lsm_write_spec'],
  ['get_lsm_stats', 'lsm_stats'],
  ['get_rte_spec', 'rte_spec'],
  ['get_rte_stats', 'rte_stats'],
] as const;

/** No table has a write buffer: writes go to the table directly. Clients ask before they read it in other ways. */
export const WRITE_BUFFER_OPERATIONS: readonly Operation[] = QUESTIONS.map(([id, member]) =>
  defineTableOperation({
    id,
    path: `/v1/table/:id/${id}`,
    summary: 'Show write buffers; always empty, because writes commit immediately',
    permission: 'read',
    body: ANYTHING,
    replies: [json(Type.Object({ [member]: Type.Null() }), 'Always null.')],
    run: async () => ({ kind: 'value', value: { [member]: null } }),
  }),
);

function toOperation({ reason, about = 'table', permission = 'write', ...address }: Unsupported): Operation {
  return defineFor(about)({
    ...address,
    summary: `Not offered: ${reason}`,
    permission,
    ...(address.methods?.includes('GET') !== true && { body: ANYTHING }),
    replies: [json(Type.Object({}), 'Never returned.')],
    async run() {
      throw new ServiceError('Unsupported', 'This operation is not offered by this server.', { hint: reason });
    },
  });
}
