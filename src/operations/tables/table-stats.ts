import { BranchQuery, TableStatsBody, TableStatsReply } from '../../wire/versions.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../table-state.ts';

export const tableStats = defineTableOperation({
  id: 'get_table_stats',
  methods: ['POST', 'GET'],
  path: '/v1/table/:id/stats',
  summary: 'Tell how many rows, bytes, indexes and fragments a table has',
  permission: 'read',
  body: { kind: 'json', shape: TableStatsBody },
  query: BranchQuery,
  replies: [{ mediaType: 'application/json', shape: TableStatsReply, description: 'Whole numbers.' }],
  statuses: [],
  run: tell,
});

async function tell(request: TableRequest<TableStatsBody>, services: Services): Promise<Reply> {
  const { table, query, body } = request;
  const state = toTableState(table, { branch: query['branch'] ?? body.branch });
  const { totalBytes, numRows, numIndices, fragmentStats } = await services.engine.versions.stats(state);
  const reply: TableStatsReply = {
    total_bytes: totalBytes,
    num_rows: numRows,
    num_indices: numIndices,
    fragment_stats: {
      num_fragments: fragmentStats.numFragments,
      num_small_fragments: fragmentStats.numSmallFragments,
      lengths: { ...fragmentStats.lengths },
    },
  };
  return { kind: 'object', body: reply };
}
