import type { Branch } from '../../engine/engine.ts';
import { ListBranchesBody, ListBranchesQuery, ListBranchesReply } from '../../wire/branches.ts';
import type { BranchShape } from '../../wire/branches.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import { cutPage, limitWithNext, readPage } from '../page.ts';
import type { Services } from '../services.ts';

export const listBranches = defineTableOperation({
  id: 'list_table_branches',
  methods: ['POST', 'GET'],
  path: '/v1/table/:id/branches/list',
  summary: 'List the branches of a table beside the main one',
  permission: 'read',
  body: { kind: 'json', shape: ListBranchesBody },
  query: ListBranchesQuery,
  replies: [{ mediaType: 'application/json', shape: ListBranchesReply, description: 'The branches by name.' }],
  statuses: [],
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
