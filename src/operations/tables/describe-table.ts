import { pathToFileURL } from 'node:url';
import { ServiceError } from '../../errors/service-error.ts';
import { guardTagName } from '../../guard/names.ts';
import { nameOf, namespaceOf } from '../../model/identifier.ts';
import { tableNotFound } from '../../model/refusals.ts';
import { locationUri } from '../../model/table.ts';
import type { TableState } from '../../model/table.ts';
import { toSchemaJson } from '../../wire/schema/schema-json.ts';
import {
  DescribeTableBody,
  DescribeTableQuery,
  DescribeTableReply,
  TableExistsBody,
  TableStatsBody,
  TableStatsReply,
} from '../../wire/tables.ts';
import { defineTableOperation, json } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import { readFlag } from '../shared/parameters.ts';
import type { Services } from '../services.ts';
import { toShownPath } from '../shared/shown-path.ts';
import { toTableState } from '../shared/table-state.ts';
import { isOnlyDeclared } from './declared-tables.ts';
import { BranchQuery, NoContent } from '../../wire/shapes.ts';

export const describeTable = defineTableOperation({
  id: 'describe_table',
  path: '/v1/table/:id/describe',
  summary: 'Describe a table: version, schema, location, properties',
  permission: 'read',
  followsRename: 'with-body',
  body: { kind: 'json', shape: DescribeTableBody },
  query: DescribeTableQuery,
  replies: [json(DescribeTableReply, 'The table.')],
  run: describe,
});

type Request = TableRequest<DescribeTableBody>;

/** Version and schema are told unasked: clients take a table without them for one that has no data yet. */
async function describe(request: Request, services: Services): Promise<Reply> {
  if (await isOnlyDeclared(request.table, services)) return describeDeclared(request);
  const state = await readState(request, services);
  const { version, schema } = await services.engine.describeTable(state);
  const reply: DescribeTableReply = {
    ...toFrame(request),
    version,
    schema: toSchemaJson(schema, request.dialect),
    is_only_declared: false,
    ...(isDetailed(request) ? await readDetails({ ...state, version }, services) : {}),
    ...(isDetailed(request) ? { metadata: Object.fromEntries(schema.metadata) } : {}),
  };
  return { kind: 'object', body: reply };
}

/** The LanceDB client cannot read a description without a version: to it, the table is not there. */
function describeDeclared(request: Request): Reply {
  const { table, dialect, delimiter, body } = request;
  const [first = '', ...rest] = toShownPath(request, table.path);
  const isStateAsked = body.version !== undefined || body.branch !== undefined || body.tag !== undefined;
  if (dialect === 'lancedb' || isStateAsked) throw tableNotFound([first, ...rest], delimiter);
  const reply: DescribeTableReply = { ...toFrame(request), is_only_declared: true };
  return { kind: 'object', body: reply };
}

async function readState({ table, body }: Request, services: Services): Promise<TableState> {
  if (body.tag === undefined) return toTableState(table, body);
  if (body.version !== undefined || body.branch !== undefined) {
    throw new ServiceError('InvalidInput', 'tag is given together with version or branch.', {
      hint: 'A tag stands for both; give one or the other.',
    });
  }
  return toTableState(table, await services.engine.versions.requireTag(table.location, guardTagName(body.tag)));
}

function isDetailed({ body, query }: Request): boolean {
  return body.load_detailed_metadata ?? readFlag(query, 'load_detailed_metadata') ?? false;
}

async function readDetails(state: TableState, services: Services): Promise<Pick<DescribeTableReply, 'stats'>> {
  const { metadata } = await services.engine.versions.require(state);
  return {
    stats: {
      num_deleted_rows: Number(metadata['total_deletion_file_rows'] ?? 0),
      num_fragments: Number(metadata['total_fragments'] ?? 0),
    },
  };
}

function toFrame(request: Request) {
  const { table } = request;
  const location = locationUri(table.location);
  const [first = '', ...rest] = toShownPath(request, table.path);
  const path = [first, ...rest] as const;
  return {
    table: nameOf(path),
    namespace: [...namespaceOf(path)],
    location,
    // Unlike the location, always a whole URI.
    table_uri: location.includes('://') ? location : pathToFileURL(location).href,
    storage_options: {},
    properties: { ...table.properties },
  };
}

export const tableExists = defineTableOperation({
  id: 'table_exists',
  path: '/v1/table/:id/exists',
  summary: 'Tell by the status whether a table, or a version of it, exists',
  permission: 'read',
  followsRename: 'never',
  body: { kind: 'json', shape: TableExistsBody },
  replies: [json(NoContent, 'It exists. No body.')],
  run: exists,
});

/** As the description would answer, without it. */
async function exists(request: TableRequest<TableExistsBody>, services: Services): Promise<Reply> {
  const { table, body, dialect, delimiter } = request;
  if (await isOnlyDeclared(table, services)) {
    if (dialect === 'lance' && body.version === undefined) return { kind: 'empty' };
    throw tableNotFound(table.path, delimiter);
  }
  await services.engine.describeTable(toTableState(table, body));
  return { kind: 'empty' };
}

export const tableStats = defineTableOperation({
  id: 'get_table_stats',
  methods: ['POST', 'GET'],
  path: '/v1/table/:id/stats',
  summary: 'Tell how many rows, bytes, indexes and fragments a table has',
  permission: 'read',
  body: { kind: 'json', shape: TableStatsBody },
  query: BranchQuery,
  replies: [json(TableStatsReply, 'Whole numbers.')],
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
