import { IndexStatsBody, IndexStatsReply, StateQuery } from '../../wire/indexes.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../table-state.ts';
import { indexNotFound, readIndexName } from './index-name.ts';
import { readState } from './read-state.ts';

export const describeIndexStats = defineTableOperation({
  id: 'describe_table_index_stats',
  methods: ['POST', 'GET'],
  path: '/v1/table/:id/index/:index_name/stats',
  summary: 'Describe an index: type, distance, indexed rows',
  permission: 'read',
  body: { kind: 'json', shape: IndexStatsBody },
  query: StateQuery,
  replies: [{ mediaType: 'application/json', shape: IndexStatsReply, description: 'What the index covers.' }],
  statuses: [],
  run: describe,
});

async function describe(request: TableRequest<IndexStatsBody>, services: Services): Promise<Reply> {
  const name = readIndexName(request, request.body.index_name);
  const state = toTableState(request.table, readState(request));
  const statistics = await services.engine.indexes.findStatistics(state, name);
  if (statistics === undefined) throw indexNotFound(name);
  const reply: IndexStatsReply = {
    index_type: statistics.type,
    num_indexed_rows: statistics.indexedRows,
    num_unindexed_rows: statistics.unindexedRows,
    ...(statistics.distanceType === undefined ? {} : { distance_type: statistics.distanceType }),
    ...(statistics.indices === undefined ? {} : { num_indices: statistics.indices }),
  };
  return { kind: 'object', body: reply };
}
