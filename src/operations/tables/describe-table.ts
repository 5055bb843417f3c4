import { pathToFileURL } from 'node:url';
import { invalidInput } from '../../errors/service-error.ts';
import { guardTagName } from '../../guard/names.ts';
import { tableNotFound } from '../../model/refusals.ts';
import { isManaged, locationUri } from '../../model/table.ts';
import type { TableState } from '../../model/table.ts';
import { toSchemaJson } from '../../wire/schema/schema-json.ts';
import { BranchQuery } from '../../wire/shapes.ts';
import {
  DescribeTableBody,
  DescribeTableQuery,
  DescribeTableReply,
  TableExistsBody,
  TableStatsBody,
  TableStatsReply,
} from '../../wire/tables.ts';
import { defineTableOperation, json, objectReply, toShownPath } from '../operation.ts';
import type { TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { readFlag } from '../shared/parameters.ts';
import { toTableState } from '../shared/table-state.ts';
import { isOnlyDeclared } from './declared-tables.ts';
import { vendCredentials } from './vend-credentials.ts';

export const describeTable = defineTableOperation({
  id: 'describe_table',
  path: '/v1/table/:id/describe',
  summary: 'Describe a table: version, schema, location, properties',
  permission: 'read',
  followsRename: 'with-body',
  body: { kind: 'json', shape: DescribeTableBody },
  query: DescribeTableQuery,
  replies: [json(DescribeTableReply, 'The table.')],
  async run(request, services) {
    const wanted = readWanted(request);
    if (await isOnlyDeclared(request.table, services)) {
      refuseStateOfDeclared(request);
      return objectReply<typeof DescribeTableReply>({
        ...describeRecord(request, wanted),
        is_only_declared: wanted.declared ? true : undefined,
        storage_options: await vendCredentials(request, { table: request.table, isEmpty: true }, services),
      });
    }
    const state = await readState(request, services);
    const { version, schema } = await services.engine.describeTable(state);
    return objectReply<typeof DescribeTableReply>({
      ...describeRecord(request, wanted),
      ...(wanted.state && { version, schema: toSchemaJson(schema, request.dialect) }),
      is_only_declared: wanted.declared ? false : undefined,
      storage_options: await vendCredentials(request, { table: request.table, isEmpty: false }, services),
      stats: wanted.details ? await readStats({ ...state, version }, services) : undefined,
      metadata: wanted.details ? Object.fromEntries(schema.metadata) : undefined,
    });
  },
});

export const tableExists = defineTableOperation({
  id: 'table_exists',
  path: '/v1/table/:id/exists',
  summary: 'Check whether a table or one of its versions exists',
  permission: 'read',
  followsRename: 'never',
  body: { kind: 'json', shape: TableExistsBody },
  replies: [{ description: 'The table exists. The reply has no body.' }],
  async run({ table, body, dialect, delimiter }, services) {
    if (await isOnlyDeclared(table, services)) {
      if (dialect === 'lance' && body.version === undefined) return { kind: 'empty' };
      throw tableNotFound(table.path, delimiter);
    }
    await services.engine.describeTable(toTableState(table, body));
    return { kind: 'empty' };
  },
});

export const tableStats = defineTableOperation({
  id: 'get_table_stats',
  methods: ['POST', 'GET'],
  path: '/v1/table/:id/stats',
  summary: 'Show the number of rows, bytes, indexes and fragments of a table',
  permission: 'read',
  body: { kind: 'json', shape: TableStatsBody },
  query: BranchQuery,
  replies: [json(TableStatsReply, 'Statistics of the table, as integers.')],
  async run({ table, query, body }, services) {
    const state = toTableState(table, { branch: query['branch'] ?? body.branch });
    const { totalBytes, numRows, numIndices, fragmentStats } = await services.engine.versions.stats(state);
    return objectReply<typeof TableStatsReply>({
      total_bytes: totalBytes,
      num_rows: numRows,
      num_indices: numIndices,
      fragment_stats: {
        num_fragments: fragmentStats.numFragments,
        num_small_fragments: fragmentStats.numSmallFragments,
        lengths: fragmentStats.lengths,
      },
    });
  },
});

type DescribeRequest = TableRequest<DescribeTableBody>;

/** The groups of fields in a description. */
interface Wanted {
  /**
   * Names, version and schema. Clients treat a table without them as one without data, so only an explicit `false`
   * omits them.
   */
  readonly state: boolean;
  /** Statistics and metadata of the schema. */
  readonly details: boolean;
  readonly uri: boolean;
  readonly declared: boolean;
}

function readWanted({ body, query, dialect }: DescribeRequest): Wanted {
  const flag = (name: 'load_detailed_metadata' | 'with_table_uri' | 'check_declared') =>
    body[name] ?? readFlag(query, name);
  const details = flag('load_detailed_metadata');
  return {
    state: details !== false || dialect === 'lancedb',
    details: details === true,
    uri: flag('with_table_uri') === true,
    declared: flag('check_declared') !== false || details === true,
  };
}

/** The LanceDB client cannot read a description without a version, so for it the table does not exist. */
function refuseStateOfDeclared(request: DescribeRequest): void {
  const { dialect, delimiter, body } = request;
  const isStateRequested = body.version !== undefined || body.branch !== undefined || body.tag !== undefined;
  if (dialect === 'lancedb' || isStateRequested)
    throw tableNotFound(toShownPath(request, request.table.path), delimiter);
}

async function readState({ table, body }: DescribeRequest, services: Services): Promise<TableState> {
  if (body.tag === undefined) return toTableState(table, body);
  if (body.version !== undefined || body.branch !== undefined) {
    const hint = 'A tag determines both: give only the tag.';
    throw invalidInput('tag is given together with version or branch.', hint);
  }
  return toTableState(table, await services.engine.versions.requireTag(table.location, guardTagName(body.tag)));
}

async function readStats(state: TableState, services: Services): Promise<DescribeTableReply['stats']> {
  const { metadata } = await services.engine.versions.require(state);
  return {
    num_deleted_rows: Number(metadata['total_deletion_file_rows'] ?? 0),
    num_fragments: Number(metadata['total_fragments'] ?? 0),
  };
}

/** What the catalog knows about the table. */
function describeRecord(request: DescribeRequest, wanted: Wanted) {
  const { table } = request;
  const location = locationUri(table.location);
  const path = toShownPath(request, table.path);
  return {
    ...(wanted.state && { table: path.at(-1) ?? '', namespace: path.slice(0, -1) }),
    location,
    // Always a complete URI, unlike the location.
    table_uri: wanted.uri ? toUri(location) : undefined,
    properties: table.properties,
    managed_versioning: isManaged(table),
  };
}

function toUri(location: string): string {
  return location.includes('://') ? location : pathToFileURL(location).href;
}
