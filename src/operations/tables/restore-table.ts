import { DelimiterQuery } from '../../wire/tables.ts';
import { RestoreTableBody, RestoreTableReply } from '../../wire/versions.ts';
import { toBranchEntry } from '../branch-entry.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import { recordCommit } from '../record-commit.ts';
import type { Services } from '../services.ts';

export const restoreTable = defineTableOperation({
  id: 'restore_table',
  methods: ['POST'],
  path: '/v1/table/:id/restore',
  summary: 'Make the contents of an earlier version the latest',
  permission: 'write',
  body: { kind: 'json', shape: RestoreTableBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: RestoreTableReply, description: 'The version that it made.' }],
  statuses: [],
  run: restore,
});

async function restore(request: TableRequest<RestoreTableBody>, services: Services): Promise<Reply> {
  const { table, caller, requestId, body } = request;
  const target = { place: table.place, branch: body.branch };
  const version = await services.engine.versions.restore(target, body.version);
  const { transaction_id } = await recordCommit(services, table, {
    operation: 'restore_table',
    caller: caller.id,
    requestId,
    version,
    ...toBranchEntry(body.branch),
  });
  const reply: RestoreTableReply = { version, ...(transaction_id === undefined ? {} : { transaction_id }) };
  return { kind: 'object', body: reply };
}
