import { parseFieldPath } from '../../model/field-path.ts';
import { ColumnsReply, DropColumnsBody } from '../../wire/columns.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { describeWrite, runPlainWrite } from '../write-reply.ts';
import { requireEntries } from './change-columns.ts';

export const dropColumns = defineTableOperation({
  id: 'alter_table_drop_columns',
  methods: ['POST'],
  path: '/v1/table/:id/drop_columns',
  summary: 'Drop columns, with their indexes',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: DropColumnsBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: ColumnsReply, description: 'The version without the columns.' }],
  statuses: [412],
  run: drop,
});

async function drop(request: TableRequest<DropColumnsBody>, services: Services): Promise<Reply> {
  const { body } = request;
  requireEntries('columns', body.columns.length, services.limits.sql.updatesMax);
  const paths = body.columns.map(parseFieldPath);
  const plan = services.engine.commits.dropColumns(paths);
  return runPlainWrite(services, { ...describeWrite(request, body.branch), plan });
}
