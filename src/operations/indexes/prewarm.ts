import { requireInteger } from '../../guard/numbers.ts';
import { parseFieldPath } from '../../model/field-path.ts';
import { PrewarmIndexBody, PrewarmPageCacheBody, PrewarmReply, StateQuery } from '../../wire/indexes.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../table-state.ts';
import { readIndexName } from './index-name.ts';
import { readState } from './read-state.ts';

export const prewarmIndex = defineTableOperation({
  id: 'prewarm_table_index',
  methods: ['POST'],
  path: '/v1/table/:id/index/:index_name/prewarm',
  summary: 'Read an index into memory',
  permission: 'read',
  body: { kind: 'json', shape: PrewarmIndexBody },
  query: StateQuery,
  replies: [{ mediaType: 'application/json', shape: PrewarmReply, description: 'The index is in memory.' }],
  statuses: [],
  run: warmIndex,
});

export const prewarmPageCache = defineTableOperation({
  id: 'prewarm_page_cache',
  methods: ['POST'],
  path: '/v1/table/:id/page_cache/prewarm',
  summary: 'Read columns once, so that the machine has them in memory',
  permission: 'read',
  body: { kind: 'json', shape: PrewarmPageCacheBody },
  query: StateQuery,
  replies: [{ mediaType: 'application/json', shape: PrewarmReply, description: 'The columns were read.' }],
  statuses: [],
  run: warmColumns,
});

async function warmIndex(request: TableRequest<PrewarmIndexBody>, services: Services): Promise<Reply> {
  const name = readIndexName(request, request.body.index_name);
  await services.engine.indexes.prewarm(toTableState(request.table, readState(request)), name);
  return { kind: 'object', body: {} };
}

async function warmColumns(request: TableRequest<PrewarmPageCacheBody>, services: Services): Promise<Reply> {
  const { columns = [] } = request.body;
  const maximum = services.limits.query.columnsMax;
  requireInteger(columns.length, { field: 'The number of columns', minimum: 0, maximum });
  const state = toTableState(request.table, readState(request));
  await services.engine.indexes.prewarmColumns(state, columns.map(parseFieldPath));
  return { kind: 'object', body: {} };
}
