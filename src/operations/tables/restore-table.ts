import { DelimiterQuery } from '../../wire/tables.ts';
import { RestoreTableBody, RestoreTableReply } from '../../wire/versions.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { describeWrite, runPlainWrite } from '../write-reply.ts';

export const restoreTable = defineTableOperation({
  id: 'restore_table',
  methods: ['POST'],
  path: '/v1/table/:id/restore',
  summary: 'Make the contents of an earlier version the latest',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: RestoreTableBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: RestoreTableReply, description: 'The version that it made.' }],
  statuses: [412],
  run: restore,
});

async function restore(request: TableRequest<RestoreTableBody>, services: Services): Promise<Reply> {
  const { table, body } = request;
  const plan = services.engine.commits.restore({ location: table.location, branch: body.branch }, body.version);
  return runPlainWrite(services, { ...describeWrite(request, body.branch), plan });
}
