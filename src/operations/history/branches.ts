import { guardNewBranchName } from '../../guard/names.ts';
import { CreateBranchBody, DeleteBranchBody, ListBranchesReply } from '../../wire/history/refs.ts';
import { ChangeReply } from '../../wire/history/versions.ts';
import { ListBody, ListQuery } from '../../wire/shapes.ts';
import { defineTableOperation, json, objectReply } from '../operation.ts';
import { cutPage, readPage, withNext } from '../shared/pages.ts';
import { orReport, runChange } from '../shared/record-commit.ts';
import { toTableState } from '../shared/table-state.ts';

export const listBranches = defineTableOperation({
  id: 'list_table_branches',
  methods: ['POST', 'GET'],
  path: '/v1/table/:id/branches/list',
  summary: 'List the branches of a table, except main',
  permission: 'read',
  body: { kind: 'json', shape: ListBody },
  query: ListQuery,
  replies: [json(ListBranchesReply, 'The branches by name.')],
  async run(request, services) {
    const page = readPage(request, services, guardNewBranchName);
    const found = await services.engine.versions.listBranches(request.table.location, withNext(page));
    const { entries, page_token } = cutPage(found, page.limit, ({ name }) => name);
    const branches = entries.map(({ name, parentBranch, parentVersion, createdAtSeconds, manifestBytes }) => {
      return [name, { parentBranch, parentVersion, createAt: createdAtSeconds, manifestSize: manifestBytes }] as const;
    });
    return objectReply<typeof ListBranchesReply>({ branches: Object.fromEntries(branches), page_token });
  },
});

export const createBranch = defineTableOperation({
  id: 'create_table_branch',
  path: '/v1/table/:id/branches/create',
  summary: 'Create a branch from a version of a table',
  permission: 'write',
  body: { kind: 'json', shape: CreateBranchBody },
  replies: [json(ChangeReply, 'The transaction id of the change.')],
  statuses: [409],
  async run(request, services) {
    const { table, body } = request;
    const branch = guardNewBranchName(body.name);
    const source = toTableState(table, { branch: body.from_branch, version: body.from_version });
    return runChange(request, services, async (confirm) => {
      return { version: await services.engine.versions.createBranch(source, branch, confirm), branch };
    });
  },
});

export const deleteBranch = defineTableOperation({
  id: 'delete_table_branch',
  path: '/v1/table/:id/branches/delete',
  summary: 'Delete a branch and its data',
  permission: 'write',
  body: { kind: 'json', shape: DeleteBranchBody },
  replies: [json(ChangeReply, 'The transaction id of the change.')],
  statuses: [409],
  async run(request, services) {
    const { id, location, tunings } = request.table;
    const branch = request.body.name;
    return runChange(request, services, async () => {
      const version = await services.engine.versions.removeBranch(location, branch);
      if (tunings?.some((each) => each.branch === branch) === true) {
        await orReport('parameters of an index', services, async () =>
          services.catalog.tables.removeTuningsOfBranch(id, branch),
        );
      }
      return { version, branch, removedVersions: 'all' };
    });
  },
});
