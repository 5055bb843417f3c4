import { guardSql } from '../../guard/sql.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { DeleteBody, DeleteReply } from '../../wire/writes.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import { recordCommit } from '../record-commit.ts';
import type { Services } from '../services.ts';
import { branchEntry, readTarget } from './write-target.ts';

export const deleteFromTable = defineTableOperation({
  id: 'delete_from_table',
  methods: ['POST'],
  path: '/v1/table/:id/delete',
  summary: 'Delete the rows that a condition selects',
  permission: 'write',
  body: { kind: 'json', shape: DeleteBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: DeleteReply, description: 'How many rows, at which version.' }],
  statuses: [],
  run: deleteRows,
});

async function deleteRows(request: TableRequest<DeleteBody>, services: Services): Promise<Reply> {
  const { table, caller, requestId, body } = request;
  const predicate = guardSql(body.predicate, { name: 'predicate', place: 'predicate' }, services.limits.sql);
  const target = { ...readTarget(table, body), leaving: request.signal };
  const { rowsDeleted, version } = await services.engine.writes.deleteRows(target, predicate);

  const { transaction_id } = await recordCommit(services, table, {
    operation: 'delete_from_table',
    caller: caller.id,
    requestId,
    version,
    ...branchEntry(target.branch),
  });
  const reply: DeleteReply = {
    version,
    num_deleted_rows: rowsDeleted,
    ...(transaction_id === undefined ? {} : { transaction_id }),
  };
  return { kind: 'object', body: reply };
}
