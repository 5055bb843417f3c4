import { requireInteger } from '../../guard/numbers.ts';
import type { IndexDescription } from '../../model/index-spec.ts';
import { ListIndicesBody, ListIndicesReply } from '../../wire/indexes.ts';
import type { IndexContent } from '../../wire/indexes.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { defineTableOperation } from '../operation.ts';
import type { Dialect, Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../table-state.ts';
import { isKnownToClients } from './index-type.ts';

export const listIndices = defineTableOperation({
  id: 'list_table_indices',
  methods: ['POST'],
  path: '/v1/table/:id/index/list',
  summary: 'List the indexes of a table',
  permission: 'read',
  body: { kind: 'json', shape: ListIndicesBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: ListIndicesReply, description: 'The indexes, by name.' }],
  statuses: [],
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
