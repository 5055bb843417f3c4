import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { checkIndexName } from '../../guard/names.ts';
import { requireInteger } from '../../guard/numbers.ts';
import { parseFieldPath } from '../../model/field-path.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { IndexDescription } from '../../model/index-spec.ts';
import { findTuning } from '../../model/tuning/search-tuning.ts';
import type { TableRecord } from '../../model/table.ts';
import {
  DropIndexBody,
  DropIndexReply,
  IndexStatsBody,
  IndexStatsReply,
  ListIndicesBody,
  ListIndicesReply,
  PrewarmPageCacheBody,
  PrewarmReply,
  StateQuery,
} from '../../wire/indexes.ts';
import type { IndexContent, IndexSearch } from '../../wire/indexes.ts';
import { BranchQuery } from '../../wire/shapes.ts';
import type { Sent } from '../../wire/shapes.ts';
import { readQueryTimeout } from '../data/read-query.ts';
import { defineTableOperation, json, objectReply } from '../operation.ts';
import type { Dialect, TableRequest } from '../operation.ts';
import { cutPage, readNameToken, readPageSize } from '../shared/pages.ts';
import { readState, toTableState } from '../shared/table-state.ts';
import { runWrite } from '../shared/write-reply.ts';
import { isKnownToLanceDbClient } from './read-index.ts';
import { toSearchContent } from './search-content.ts';

export const listIndices = defineTableOperation({
  id: 'list_table_indices',
  path: '/v1/table/:id/index/list',
  summary: 'List the indexes of a table',
  permission: 'read',
  body: { kind: 'json', shape: ListIndicesBody },
  replies: [json(ListIndicesReply, 'The indexes, by name.')],
  async run({ table, body, dialect }, services) {
    const limit = readPageSize(body.limit, services);
    const after = readNameToken(body.page_token, checkIndexName);
    const state = toTableState(table, body);
    const all = await services.engine.indexes.list(state);
    const rest = all
      .filter((index) => isShown(index, dialect))
      .filter(({ name }) => after === undefined || name > after)
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const { entries, page_token } = cutPage(rest, limit, ({ name }) => name);
    return objectReply<typeof ListIndicesReply>({
      indexes: entries.map((index) => toIndexContent(index, table, state.branch)),
      page_token,
    });
  },
});

export const describeIndexStats = defineTableOperation({
  id: 'describe_table_index_stats',
  methods: ['POST', 'GET'],
  path: '/v1/table/:id/index/:index_name/stats',
  summary: 'Describe an index: type, distance metric, indexed rows',
  permission: 'read',
  body: { kind: 'json', shape: IndexStatsBody },
  query: StateQuery,
  replies: [json(IndexStatsReply, 'Statistics of the index.')],
  async run(request, services) {
    const name = readIndexName(request);
    const state = toTableState(request.table, readState(request));
    const statistics = await services.engine.indexes.findStatistics(state, name);
    if (statistics === undefined) {
      throw new ServiceError('TableIndexNotFound', `The table has no index ${quoteForMessage(name)}.`);
    }
    return objectReply<typeof IndexStatsReply>({
      index_type: statistics.type,
      num_indexed_rows: statistics.indexedRows,
      num_unindexed_rows: statistics.unindexedRows,
      distance_type: statistics.distanceType,
      num_indices: statistics.indices,
      search: findSearch(request.table, { name, type: statistics.type }, state.branch),
    });
  },
});

export const prewarmIndex = defineTableOperation({
  id: 'prewarm_table_index',
  path: '/v1/table/:id/index/:index_name/prewarm',
  summary: 'Load an index into memory',
  permission: 'read',
  body: { kind: 'json', shape: IndexStatsBody },
  query: StateQuery,
  replies: [json(PrewarmReply, 'The index is in memory.')],
  async run(request, services) {
    const name = readIndexName(request);
    await services.engine.indexes.prewarm(toTableState(request.table, readState(request)), name);
    return { kind: 'object', body: {} };
  },
});

export const prewarmPageCache = defineTableOperation({
  id: 'prewarm_page_cache',
  path: '/v1/table/:id/page_cache/prewarm',
  summary: 'Load columns into memory',
  permission: 'read',
  body: { kind: 'json', shape: PrewarmPageCacheBody },
  query: StateQuery,
  replies: [json(PrewarmReply, 'The columns were read.')],
  async run(request, services) {
    const { columns = [] } = request.body;
    const maximum = services.limits.query.columnsMax;
    requireInteger(columns.length, { field: 'The number of columns', minimum: 0, maximum });
    const state = toTableState(request.table, readState(request));
    await services.engine.indexes.prewarmColumns(state, columns.map(parseFieldPath), readQueryTimeout(request));
    return { kind: 'object', body: {} };
  },
});

export const dropIndex = defineTableOperation({
  id: 'drop_table_index',
  path: '/v1/table/:id/index/:index_name/drop',
  summary: 'Drop an index',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: DropIndexBody },
  query: BranchQuery,
  replies: [json(DropIndexReply, 'The version without the index.')],
  async run(request, services) {
    const name = readIndexName(request);
    const { branch } = readState(request);
    return runWrite(request, services, { branch, plan: services.engine.commits.dropIndex(name) });
  },
});

/** The LanceDB client rejects a whole list if one index has no column or an unknown type. */
function isShown({ columns, type }: IndexDescription, dialect: Dialect): boolean {
  return dialect === 'lance' || (columns.length > 0 && isKnownToLanceDbClient(type));
}

function toIndexContent(index: IndexDescription, table: TableRecord, branch: string | undefined): Sent<IndexContent> {
  return {
    index_name: index.name,
    index_uuid: index.uuid ?? '',
    columns: index.columns,
    status: 'DONE',
    index_type: index.type,
    type_url: index.typeUrl,
    created_at: index.createdAt?.toISOString(),
    num_indexed_rows: index.indexedRows,
    num_unindexed_rows: index.unindexedRows,
    size_bytes: index.sizeBytes,
    num_segments: index.segments,
    index_version: index.formatVersion,
    index_details: index.details,
    search: findSearch(table, index, branch),
  };
}

/**
 * The index that the address names. Some clients send a space there as a plus sign; then the name in the body decides.
 */
function readIndexName({ params, body }: TableRequest<{ readonly index_name?: string }>): string {
  const inAddress = params['index_name'] ?? '';
  const inBody = body.index_name;
  if (inBody === undefined || inBody === inAddress) return inAddress;
  if (inBody === inAddress.replaceAll('+', ' ')) return inBody;
  throw invalidInput(
    `The index in the URL is ${quoteForMessage(inAddress)}, in the body ${quoteForMessage(inBody)}.`,
    'They must be equal.',
  );
}

/** A branch has the indexes of the main branch until it builds others. */
function findSearch(
  { tunings }: TableRecord,
  { name, type }: Pick<IndexDescription, 'name' | 'type'>,
  branch: string | undefined,
): Sent<IndexSearch> | undefined {
  const tuning = findTuning(tunings, name, branch) ?? findTuning(tunings, name, undefined);
  return tuning?.indexType === type ? toSearchContent(tuning) : undefined;
}
