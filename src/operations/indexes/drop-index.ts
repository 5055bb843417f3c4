import { BranchQuery, DropIndexBody, DropIndexReply } from '../../wire/indexes.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import { recordCommit } from '../record-commit.ts';
import type { Services } from '../services.ts';
import { readIndexName } from './index-name.ts';
import { readState } from './read-state.ts';

export const dropIndex = defineTableOperation({
  id: 'drop_table_index',
  methods: ['POST'],
  path: '/v1/table/:id/index/:index_name/drop',
  summary: 'Drop an index',
  permission: 'write',
  body: { kind: 'json', shape: DropIndexBody },
  query: BranchQuery,
  replies: [{ mediaType: 'application/json', shape: DropIndexReply, description: 'The version without the index.' }],
  statuses: [],
  run: drop,
});

async function drop(request: TableRequest<DropIndexBody>, services: Services): Promise<Reply> {
  const { table, caller, requestId } = request;
  const name = readIndexName(request, request.body.index_name);
  const { branch } = readState(request);
  const { version } = await services.engine.indexes.drop({ place: table.place, branch }, name);
  const { transaction_id } = await recordCommit(services, table, {
    operation: 'drop_table_index',
    caller: caller.id,
    requestId,
    version,
    ...(branch === undefined ? {} : { branch }),
  });
  const reply: DropIndexReply = { version, ...(transaction_id === undefined ? {} : { transaction_id }) };
  return { kind: 'object', body: reply };
}
