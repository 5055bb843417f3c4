import type { TableVersion, VersionRange } from '../../engine/engine.ts';
import { ServiceError } from '../../errors/service-error.ts';
import type { TableLocation } from '../../model/table.ts';
import {
  DeleteVersionsBody,
  DeleteVersionsReply,
  DescribeVersionBody,
  DescribeVersionReply,
  ListVersionsBody,
  ListVersionsQuery,
  ListVersionsReply,
  RestoreTableBody,
  RestoreTableReply,
} from '../../wire/history/versions.ts';
import type { TableVersionShape } from '../../wire/history/versions.ts';
import type { Sent } from '../../wire/shapes.ts';
import { defineTableOperation, json, objectReply } from '../operation.ts';
import type { Services } from '../services.ts';
import { cutPage, readPage, withNext } from '../shared/pages.ts';
import type { Page } from '../shared/pages.ts';
import { recordCommit, toCommitEntry } from '../shared/record-commit.ts';
import { toTableState } from '../shared/table-state.ts';
import { describeWrite, runPlainWrite } from '../shared/write-reply.ts';

export const listVersions = defineTableOperation({
  id: 'list_table_versions',
  methods: ['POST', 'GET'],
  path: '/v1/table/:id/version/list',
  summary: 'List the versions of a table',
  permission: 'read',
  body: { kind: 'json', shape: ListVersionsBody },
  query: ListVersionsQuery,
  replies: [json(ListVersionsReply, 'The versions.')],
  async run(request, services) {
    const { table, query, body } = request;
    const page = readPage(request, body, services);
    const state = toTableState(table, { branch: query['branch'] ?? body.branch });
    const isDescending = readDescending(query['descending']) ?? body.descending ?? false;
    const all = await services.engine.versions.list(state);
    const selected = selectAfter(all, page, isDescending);
    const { entries, page_token } = cutPage(selected, page.limit, ({ version }) => String(version));
    // The size takes a look at each manifest; the LanceDB client lists all versions at once, and does not read sizes.
    const versions =
      request.dialect === 'lancedb'
        ? entries.map(toVersionShape)
        : await Promise.all(entries.map(async (version) => toMeasuredShape(table.location, version, services)));
    return objectReply<ListVersionsReply>({ versions, page_token });
  },
});

export const describeVersion = defineTableOperation({
  id: 'describe_table_version',
  path: '/v1/table/:id/version/describe',
  summary: 'Describe one version of a table, the latest when none is given',
  permission: 'read',
  body: { kind: 'json', shape: DescribeVersionBody },
  replies: [json(DescribeVersionReply, 'The version.')],
  async run({ table, body }, services) {
    const found = await services.engine.versions.require(toTableState(table, body));
    const version = await toMeasuredShape(table.location, found, services);
    return objectReply<DescribeVersionReply>({ version });
  },
});

export const restoreTable = defineTableOperation({
  id: 'restore_table',
  path: '/v1/table/:id/restore',
  summary: 'Make the contents of an earlier version the latest',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: RestoreTableBody },
  replies: [json(RestoreTableReply, 'The version that it made.')],
  statuses: [412],
  async run(request, services) {
    const { table, body } = request;
    const plan = services.engine.commits.restore({ location: table.location, branch: body.branch }, body.version);
    return runPlainWrite(services, { ...describeWrite(request, body.branch), plan });
  },
});

export const deleteVersions = defineTableOperation({
  id: 'batch_delete_table_versions',
  path: '/v1/table/:id/version/delete',
  summary: 'Delete the records of versions, not the data',
  permission: 'manage',
  body: { kind: 'json', shape: DeleteVersionsBody },
  replies: [json(DeleteVersionsReply, 'How many there were.')],
  statuses: [406, 409],
  async run(request, services) {
    const { table, body } = request;
    const { location } = table;
    const ranges = readRanges(body, services.limits.http.pageSizeMax);
    if (table.heldVersion !== undefined) {
      throw new ServiceError('ServiceUnavailable', 'The table is being overwritten.', { retryAfterSeconds: 5 });
    }
    const { count, latest } = await services.writes.exclusive(location, async () =>
      services.engine.versions.remove({ location, branch: body.branch }, ranges),
    );
    const change = { operation: 'batch_delete_table_versions', version: latest, branch: body.branch };
    const transaction_id = await recordCommit(services, table, toCommitEntry(request, change));
    return objectReply<DeleteVersionsReply>({ deleted_count: count, transaction_id });
  },
});

function selectAfter(versions: readonly TableVersion[], page: Page, isDescending: boolean): readonly TableVersion[] {
  const after = readToken(page.after);
  const ordered = isDescending ? versions.toReversed() : versions;
  const isLater = ({ version }: TableVersion): boolean =>
    after === undefined || (isDescending ? version < after : version > after);
  return ordered.filter(isLater).slice(0, withNext(page).limit);
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

/** With the names that both client families read. */
function toVersionShape(version: TableVersion): Sent<TableVersionShape> {
  const milliseconds = Math.floor(version.committedAtMicroseconds / 1000);
  return {
    version: version.version,
    timestamp: toTimestamp(milliseconds, version.committedAtMicroseconds % 1000),
    timestamp_millis: milliseconds,
    metadata: version.metadata,
    manifest_path: version.manifestPath,
  };
}

async function toMeasuredShape(
  location: TableLocation,
  version: TableVersion,
  services: Services,
): Promise<Sent<TableVersionShape>> {
  return { ...toVersionShape(version), manifest_size: await services.engine.versions.measure(location, version) };
}

/** Keeps the engine's microseconds: two commits may share a millisecond. */
function toTimestamp(milliseconds: number, microseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', `${String(microseconds).padStart(3, '0')}Z`);
}
