import { ServiceError } from '../../errors/service-error.ts';
import type { TableVersion, VersionRange } from '../../engine/engine.ts';
import {
  ListVersionsBody,
  ListVersionsQuery,
  ListVersionsReply,
  RestoreTableBody,
  RestoreTableReply,
  DeleteVersionsBody,
  DeleteVersionsReply,
  DescribeVersionBody,
  DescribeVersionReply,
} from '../../wire/history/versions.ts';
import { defineTableOperation, json } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import { cutPage, limitWithNext, readPage } from '../shared/pages.ts';
import type { Page } from '../shared/pages.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../shared/table-state.ts';
import { describeWrite, runPlainWrite } from '../shared/write-reply.ts';
import { toBranchEntry, recordCommit } from '../shared/record-commit.ts';
import type { TableLocation } from '../../model/table.ts';
import type { TableVersionShape } from '../../wire/history/versions.ts';

export const listVersions = defineTableOperation({
  id: 'list_table_versions',
  methods: ['POST', 'GET'],
  path: '/v1/table/:id/version/list',
  summary: 'List the versions of a table',
  permission: 'read',
  body: { kind: 'json', shape: ListVersionsBody },
  query: ListVersionsQuery,
  replies: [json(ListVersionsReply, 'The versions.')],
  run: list,
});

async function list(request: TableRequest<ListVersionsBody>, services: Services): Promise<Reply> {
  const { table, query, body } = request;
  const page = readPage(request, body, services);
  const state = toTableState(table, { branch: query['branch'] ?? body.branch });
  const isDescending = readDescending(query['descending']) ?? body.descending ?? false;
  const all = await services.engine.versions.list(state);
  const { entries, token } = cutPage(selectAfter(all, page, isDescending), page, ({ version }) => String(version));
  // A file is looked at for each size, and the LanceDB client, which asks for all versions at once, does not read it.
  const versions =
    request.dialect === 'lancedb'
      ? entries.map(toVersionShape)
      : await Promise.all(entries.map(async (version) => toMeasuredShape(table.location, version, services)));
  const reply: ListVersionsReply = { versions, ...token };
  return { kind: 'object', body: reply };
}

function selectAfter(versions: readonly TableVersion[], page: Page, isDescending: boolean): readonly TableVersion[] {
  const after = readToken(page.after);
  const ordered = isDescending ? versions.toReversed() : versions;
  const isLater = ({ version }: TableVersion): boolean =>
    after === undefined || (isDescending ? version < after : version > after);
  return ordered.filter(isLater).slice(0, limitWithNext(page));
}

function readToken(token: string | undefined): number | undefined {
  if (token === undefined) return undefined;
  if (/^\d{1,15}$/.test(token)) return Number(token);
  throw new ServiceError('InvalidInput', 'The page_token is none that this listing gave.');
}

function readDescending(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (text === 'true' || text === 'false') return text === 'true';
  throw new ServiceError('InvalidInput', 'The query parameter descending is neither true nor false.');
}

export const restoreTable = defineTableOperation({
  id: 'restore_table',
  path: '/v1/table/:id/restore',
  summary: 'Make the contents of an earlier version the latest',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: RestoreTableBody },
  replies: [json(RestoreTableReply, 'The version that it made.')],
  statuses: [412],
  run: restore,
});

async function restore(request: TableRequest<RestoreTableBody>, services: Services): Promise<Reply> {
  const { table, body } = request;
  const plan = services.engine.commits.restore({ location: table.location, branch: body.branch }, body.version);
  return runPlainWrite(services, { ...describeWrite(request, body.branch), plan });
}

export const deleteVersions = defineTableOperation({
  id: 'batch_delete_table_versions',
  path: '/v1/table/:id/version/delete',
  summary: 'Delete the records of versions, not the data',
  permission: 'manage',
  body: { kind: 'json', shape: DeleteVersionsBody },
  replies: [json(DeleteVersionsReply, 'How many there were.')],
  statuses: [406, 409],
  run: remove,
});

async function remove(request: TableRequest<DeleteVersionsBody>, services: Services): Promise<Reply> {
  const { table, caller, requestId, body } = request;
  const ranges = readRanges(body, services.limits.http.pageSizeMax);
  if (table.heldVersion !== undefined) throw heldTable();
  const target = { location: table.location, branch: body.branch };
  const { count, latest } = await services.writes.exclusive(table.location, async () =>
    services.engine.versions.remove(target, ranges),
  );
  const { transaction_id } = await recordCommit(services, table, {
    operation: 'batch_delete_table_versions',
    caller: caller.id,
    requestId,
    version: latest,
    ...toBranchEntry(body.branch),
  });
  const reply: DeleteVersionsReply = {
    deleted_count: count,
    ...(transaction_id === undefined ? {} : { transaction_id }),
  };
  return { kind: 'object', body: reply };
}

function readRanges({ ranges }: DeleteVersionsBody, rangesMax: number): readonly VersionRange[] {
  if (ranges.length === 0 || ranges.length > rangesMax) {
    throw new ServiceError('InvalidInput', `ranges has ${ranges.length} entries.`, {
      hint: `Give from 1 to ${rangesMax}, such as {"start_version": 1, "end_version": 5}.`,
    });
  }
  return ranges.map(({ start_version, end_version }, index) => {
    const end = end_version === -1 ? Infinity : end_version;
    if (end > start_version) return { start: start_version, end };
    throw new ServiceError('InvalidInput', `ranges[${index}] ends before it starts.`, {
      hint: 'The start belongs to the range, the end does not.',
    });
  });
}

function heldTable(): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The table is being overwritten.', { retryAfterSeconds: 5 });
}

export const describeVersion = defineTableOperation({
  id: 'describe_table_version',
  path: '/v1/table/:id/version/describe',
  summary: 'Describe one version of a table, the latest when none is given',
  permission: 'read',
  body: { kind: 'json', shape: DescribeVersionBody },
  replies: [json(DescribeVersionReply, 'The version.')],
  run: describe,
});

async function describe(request: TableRequest<DescribeVersionBody>, services: Services): Promise<Reply> {
  const { table, body } = request;
  const found = await services.engine.versions.require(toTableState(table, body));
  const reply: DescribeVersionReply = { version: await toMeasuredShape(table.location, found, services) };
  return { kind: 'object', body: reply };
}

/** With the names that both client families read. */
export function toVersionShape(version: TableVersion): TableVersionShape {
  const milliseconds = Math.floor(version.committedAtMicroseconds / 1000);
  return {
    version: version.version,
    timestamp: toTimestamp(milliseconds, version.committedAtMicroseconds % 1000),
    timestamp_millis: milliseconds,
    metadata: { ...version.metadata },
    manifest_path: version.manifestPath,
  };
}

export async function toMeasuredShape(
  location: TableLocation,
  version: TableVersion,
  services: Services,
): Promise<TableVersionShape> {
  const bytes = await services.engine.versions.measure(location, version);
  return { ...toVersionShape(version), ...(bytes === undefined ? {} : { manifest_size: bytes }) };
}

/** Two commits may fall into one millisecond, so that the engine's microseconds are kept. */
function toTimestamp(milliseconds: number, microseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', `${String(microseconds).padStart(3, '0')}Z`);
}
