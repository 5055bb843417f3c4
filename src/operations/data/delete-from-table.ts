import { guardSql } from '../../guard/sql/guard-sql.ts';
import { DeleteBody, DeleteReply } from '../../wire/data.ts';
import { defineTableOperation, json } from '../operation.ts';
import { runWrite } from '../shared/write-reply.ts';

export const deleteFromTable = defineTableOperation({
  id: 'delete_from_table',
  path: '/v1/table/:id/delete',
  summary: 'Delete the rows that match a condition',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: DeleteBody },
  replies: [json(DeleteReply, 'The number of deleted rows and the resulting version.')],
  async run(request, services) {
    const { body } = request;
    const predicate = guardSql(body.predicate, { name: 'predicate', field: 'predicate' }, services.limits.sql);
    return runWrite(request, services, {
      branch: body.branch,
      plan: services.engine.commits.delete(predicate),
      rule: { from: 'removed-rows', names: ['num_deleted_rows'] },
      toFields: ({ rowsDeleted }) => ({ num_deleted_rows: rowsDeleted }),
    });
  },
});
