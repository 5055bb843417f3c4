import { BranchQuery, DropIndexBody, DropIndexReply } from '../../wire/indexes.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { describeWrite, runPlainWrite } from '../write-reply.ts';
import { readIndexName } from './index-name.ts';
import { readState } from './read-state.ts';

export const dropIndex = defineTableOperation({
  id: 'drop_table_index',
  methods: ['POST'],
  path: '/v1/table/:id/index/:index_name/drop',
  summary: 'Drop an index',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: DropIndexBody },
  query: BranchQuery,
  replies: [{ mediaType: 'application/json', shape: DropIndexReply, description: 'The version without the index.' }],
  statuses: [412],
  run: drop,
});

async function drop(request: TableRequest<DropIndexBody>, services: Services): Promise<Reply> {
  const name = readIndexName(request, request.body.index_name);
  const { branch } = readState(request);
  return runPlainWrite(services, { ...describeWrite(request, branch), plan: services.engine.commits.dropIndex(name) });
}
