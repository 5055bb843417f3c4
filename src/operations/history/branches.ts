import type { Branch } from '../../engine/engine.ts';
import {
  ListBranchesBody,
  ListBranchesQuery,
  ListBranchesReply,
  CreateBranchBody,
  DeleteBranchBody,
} from '../../wire/history/branches.ts';
import type { BranchShape } from '../../wire/history/branches.ts';
import { defineTableOperation, json } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import { cutPage, limitWithNext, readPage } from '../shared/pages.ts';
import type { Services } from '../services.ts';
import { guardNewBranchName } from '../../guard/names.ts';
import { ChangeReply } from '../../wire/history/versions.ts';
import { recordChange } from '../shared/record-commit.ts';
import { toTableState } from '../shared/table-state.ts';

export const listBranches = defineTableOperation({
  id: 'list_table_branches',
  methods: ['POST', 'GET'],
  path: '/v1/table/:id/branches/list',
  summary: 'List the branches of a table beside the main one',
  permission: 'read',
  body: { kind: 'json', shape: ListBranchesBody },
  query: ListBranchesQuery,
  replies: [json(ListBranchesReply, 'The branches by name.')],
  run: list,
});

async function list(request: TableRequest<ListBranchesBody>, services: Services): Promise<Reply> {
  const page = readPage(request, request.body, services);
  const window = { after: page.after, limit: limitWithNext(page) };
  const found = await services.engine.versions.listBranches(request.table.location, window);
  const { entries, token } = cutPage(found, page, ({ name }) => name);
  const branches = Object.fromEntries(entries.map((branch) => [branch.name, toBranchShape(branch)]));
  const reply: ListBranchesReply = { branches, ...token };
  return { kind: 'object', body: reply };
}

function toBranchShape({ parentBranch, parentVersion, createdAtSeconds, manifestBytes }: Branch): BranchShape {
  return {
    ...(parentBranch === undefined ? {} : { parentBranch }),
    parentVersion,
    createAt: createdAtSeconds,
    manifestSize: manifestBytes,
  };
}

const replies = [json(ChangeReply, 'The record of the change.')];

export const createBranch = defineTableOperation({
  id: 'create_table_branch',
  path: '/v1/table/:id/branches/create',
  summary: 'Start a branch at a version of a table',
  permission: 'write',
  body: { kind: 'json', shape: CreateBranchBody },
  replies,
  statuses: [409],
  run: create,
});

export const deleteBranch = defineTableOperation({
  id: 'delete_table_branch',
  path: '/v1/table/:id/branches/delete',
  summary: 'Delete a branch and its data',
  permission: 'write',
  body: { kind: 'json', shape: DeleteBranchBody },
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
