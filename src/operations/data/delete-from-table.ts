import { guardSql } from '../../guard/sql.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { DeleteBody, DeleteReply } from '../../wire/writes.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import { recordCommit } from '../record-commit.ts';
import type { Services } from '../services.ts';
import { branchEntry, intendedTarget } from './write-target.ts';

export const deleteFromTable = defineTableOperation({
  id: 'delete_from_table',
  methods: ['POST'],
  path: '/v1/table/:id/delete',
  summary: 'Delete the rows that a condition selects',
  permission: 'write',
  isWrittenOnce: true,
  body: { kind: 'json', shape: DeleteBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: DeleteReply, description: 'How many rows, at which version.' }],
  statuses: [412],
  run: deleteRows,
});

async function deleteRows(request: TableRequest<DeleteBody>, services: Services): Promise<Reply> {
  const { table, caller, requestId, body } = request;
  const predicate = guardSql(body.predicate, { name: 'predicate', place: 'predicate' }, services.limits.sql);
  const target = intendedTarget(request, table, body);
  const { rowsDeleted, version } = await services.engine.writes.deleteRows(target, predicate);

  const { transaction_id } = await recordCommit(services, table, {
    operation: 'delete_from_table',
    caller: caller.id,
    requestId,
    version,
    ...branchEntry(target.branch),
    journal: request.intent?.commit({ num_deleted_rows: rowsDeleted }),
  });
  const reply: DeleteReply = {
    version,
    num_deleted_rows: rowsDeleted,
    ...(transaction_id === undefined ? {} : { transaction_id }),
  };
  return { kind: 'object', body: reply };
}
