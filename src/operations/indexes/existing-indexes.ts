import { requireInteger } from '../../guard/numbers.ts';
import type { IndexDescription } from '../../model/index-spec.ts';
import {
  ListIndicesBody,
  ListIndicesReply,
  IndexStatsBody,
  IndexStatsReply,
  StateQuery,
  DropIndexBody,
  DropIndexReply,
  PrewarmIndexBody,
  PrewarmPageCacheBody,
  PrewarmReply,
} from '../../wire/indexes.ts';
import { BranchQuery } from '../../wire/shapes.ts';
import type { IndexContent } from '../../wire/indexes.ts';
import { defineTableOperation, json } from '../operation.ts';
import type { Dialect, Reply, TableRequest, RequestFacts } from '../operation.ts';
import type { Services } from '../services.ts';
import { toTableState, readState } from '../shared/table-state.ts';
import { isKnownToClients } from './read-index.ts';
import { describeWrite, runPlainWrite } from '../shared/write-reply.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { parseFieldPath } from '../../model/field-path.ts';

export const listIndices = defineTableOperation({
  id: 'list_table_indices',
  path: '/v1/table/:id/index/list',
  summary: 'List the indexes of a table',
  permission: 'read',
  body: { kind: 'json', shape: ListIndicesBody },
  replies: [json(ListIndicesReply, 'The indexes, by name.')],
  run: list,
});

async function list(request: TableRequest<ListIndicesBody>, services: Services): Promise<Reply> {
  const { table, body, dialect } = request;
  const { pageSizeMax } = services.limits.http;
  const limit = requireInteger(body.limit ?? pageSizeMax, { field: 'limit', minimum: 1, maximum: pageSizeMax });
  const all = await services.engine.indexes.list(toTableState(table, body));
  const left = all
    .filter((index) => isShown(index, dialect))
    .filter(({ name }) => body.page_token === undefined || name > body.page_token)
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const page = left.slice(0, limit);
  const last = page.at(-1);
  const reply: ListIndicesReply = {
    indexes: page.map(toIndexContent),
    ...(left.length > limit && last !== undefined ? { page_token: last.name } : {}),
  };
  return { kind: 'object', body: reply };
}

/** One index of a type that it does not know, or without a column, makes the LanceDB client refuse the whole list. */
function isShown({ columns, type }: IndexDescription, dialect: Dialect): boolean {
  return dialect === 'lance' || (columns.length > 0 && isKnownToClients(type));
}

function toIndexContent(index: IndexDescription): IndexContent {
  return {
    index_name: index.name,
    index_uuid: index.uuid ?? '',
    columns: [...index.columns],
    status: 'DONE',
    index_type: index.type,
    ...(index.typeUrl === undefined ? {} : { type_url: index.typeUrl }),
    ...(index.createdAt === undefined ? {} : { created_at: index.createdAt.toISOString() }),
    ...(index.indexedRows === undefined ? {} : { num_indexed_rows: index.indexedRows }),
    ...(index.unindexedRows === undefined ? {} : { num_unindexed_rows: index.unindexedRows }),
    ...(index.sizeBytes === undefined ? {} : { size_bytes: index.sizeBytes }),
    ...(index.segments === undefined ? {} : { num_segments: index.segments }),
    ...(index.formatVersion === undefined ? {} : { index_version: index.formatVersion }),
    ...(index.details === undefined ? {} : { index_details: index.details }),
  };
}

export const describeIndexStats = defineTableOperation({
  id: 'describe_table_index_stats',
  methods: ['POST', 'GET'],
  path: '/v1/table/:id/index/:index_name/stats',
  summary: 'Describe an index: type, distance, indexed rows',
  permission: 'read',
  body: { kind: 'json', shape: IndexStatsBody },
  query: StateQuery,
  replies: [json(IndexStatsReply, 'What the index covers.')],
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

export const dropIndex = defineTableOperation({
  id: 'drop_table_index',
  path: '/v1/table/:id/index/:index_name/drop',
  summary: 'Drop an index',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: DropIndexBody },
  query: BranchQuery,
  replies: [json(DropIndexReply, 'The version without the index.')],
  statuses: [412],
  run: drop,
});

async function drop(request: TableRequest<DropIndexBody>, services: Services): Promise<Reply> {
  const name = readIndexName(request, request.body.index_name);
  const { branch } = readState(request);
  return runPlainWrite(services, { ...describeWrite(request, branch), plan: services.engine.commits.dropIndex(name) });
}

/**
 * The index that the address names. Some clients write a space there as a plus sign; they say the name in the body too,
 * which then decides.
 */
export function readIndexName(request: RequestFacts, inBody: string | undefined): string {
  const inAddress = request.params['index_name'] ?? '';
  if (inBody === undefined || inBody === inAddress) return inAddress;
  if (inBody === inAddress.replaceAll('+', ' ')) return inBody;
  throw new ServiceError(
    'InvalidInput',
    `The index in the address is ${quoteForMessage(inAddress)}, in the body ${quoteForMessage(inBody)}.`,
    { hint: 'They must agree.' },
  );
}

export function indexNotFound(name: string): ServiceError {
  return new ServiceError('TableIndexNotFound', `The table has no index ${quoteForMessage(name)}.`);
}

export const prewarmIndex = defineTableOperation({
  id: 'prewarm_table_index',
  path: '/v1/table/:id/index/:index_name/prewarm',
  summary: 'Read an index into memory',
  permission: 'read',
  body: { kind: 'json', shape: PrewarmIndexBody },
  query: StateQuery,
  replies: [json(PrewarmReply, 'The index is in memory.')],
  run: warmIndex,
});

export const prewarmPageCache = defineTableOperation({
  id: 'prewarm_page_cache',
  path: '/v1/table/:id/page_cache/prewarm',
  summary: 'Read columns once, so that the machine has them in memory',
  permission: 'read',
  body: { kind: 'json', shape: PrewarmPageCacheBody },
  query: StateQuery,
  replies: [json(PrewarmReply, 'The columns were read.')],
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
