import { guardNewBranchName } from '../../guard/ref-names.ts';
import { CreateBranchBody, DeleteBranchBody } from '../../wire/branches.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { ChangeReply } from '../../wire/versions.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import { recordChange } from '../record-change.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../table-state.ts';

const replies = [{ mediaType: 'application/json', shape: ChangeReply, description: 'The record of the change.' }];

export const createBranch = defineTableOperation({
  id: 'create_table_branch',
  methods: ['POST'],
  path: '/v1/table/:id/branches/create',
  summary: 'Start a branch at a version of a table',
  permission: 'write',
  body: { kind: 'json', shape: CreateBranchBody },
  query: DelimiterQuery,
  replies,
  statuses: [409],
  run: create,
});

export const deleteBranch = defineTableOperation({
  id: 'delete_table_branch',
  methods: ['POST'],
  path: '/v1/table/:id/branches/delete',
  summary: 'Delete a branch and its data',
  permission: 'write',
  body: { kind: 'json', shape: DeleteBranchBody },
  query: DelimiterQuery,
  replies,
  statuses: [409],
  run: remove,
});

async function create(request: TableRequest<CreateBranchBody>, services: Services): Promise<Reply> {
  const { table, body } = request;
  const name = guardNewBranchName(body.name);
  const source = toTableState(table, { branch: body.from_branch, version: body.from_version });
  const version = await services.writes.exclusive(source.location, async () =>
    services.engine.versions.createBranch(source, name),
  );
  return recordChange(request, services, { operation: 'create_table_branch', version, branch: name });
}

async function remove(request: TableRequest<DeleteBranchBody>, services: Services): Promise<Reply> {
  const { table, body } = request;
  const version = await services.writes.exclusive(table.location, async () =>
    services.engine.versions.removeBranch(table.location, body.name),
  );
  return recordChange(request, services, { operation: 'delete_table_branch', version, branch: body.name });
}
