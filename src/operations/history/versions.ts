import type { TableVersion, VersionRange } from '../../engine/engine.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { MANAGED_PROPERTY, isManaged } from '../../model/table.ts';
import type { TableRecord, TableState } from '../../model/table.ts';
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
import { defineTableOperation, json, objectReply } from '../operation.ts';
import type { Services } from '../services.ts';
import { cutPage, readPage, unknownPageToken } from '../shared/pages.ts';
import { runChange } from '../shared/record-commit.ts';
import { toTableState } from '../shared/table-state.ts';
import { runWrite } from '../shared/write-reply.ts';
import { toStorePath } from './managed-versions.ts';

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
    const page = readPage(request, services);
    const state = toTableState(table, { branch: query['branch'] ?? body.branch });
    const isDescending = readDescending(query['descending']) ?? body.descending ?? false;
    const all = await services.engine.versions.list(state);
    const selected = selectAfter(all, readToken(page.after), isDescending);
    const { entries: onPage, page_token } = cutPage(selected, page.limit, ({ version }) => String(version));
    const entries = await addMetadata(table, state, onPage, services);
    // Measuring sizes checks each manifest; the LanceDB client lists all versions at once and ignores sizes.
    const versions =
      request.dialect === 'lancedb'
        ? entries.map(toVersionShape)
        : await Promise.all(entries.map(async (version) => toMeasuredShape(table, version, services)));
    return objectReply<typeof ListVersionsReply>({ versions, page_token });
  },
});

export const describeVersion = defineTableOperation({
  id: 'describe_table_version',
  path: '/v1/table/:id/version/describe',
  summary: 'Describe a version of a table; the latest by default',
  permission: 'read',
  body: { kind: 'json', shape: DescribeVersionBody },
  replies: [json(DescribeVersionReply, 'The version.')],
  async run({ table, body }, services) {
    const state = toTableState(table, body);
    const found = await services.engine.versions.require(state);
    const [described = found] = await addMetadata(table, state, [found], services);
    const version = await toMeasuredShape(table, described, services);
    return objectReply<typeof DescribeVersionReply>({ version });
  },
});

export const restoreTable = defineTableOperation({
  id: 'restore_table',
  path: '/v1/table/:id/restore',
  summary: 'Restore an earlier version of a table as its latest',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: RestoreTableBody },
  replies: [json(RestoreTableReply, 'The version that the restore created.')],
  async run(request, services) {
    const { table, body } = request;
    const plan = services.engine.commits.restore({ location: table.location, branch: body.branch }, body.version);
    const restored = { location: table.location, branch: undefined, version: body.version };
    const growth = async () => ({ ...(await services.engine.versions.size(restored)), replacesAll: true });
    return runWrite(request, services, {
      branch: body.branch,
      plan,
      growth,
      toFields: ({ indexes, columns }) => ({ removed_indexes: indexes, removed_columns: columns }),
    });
  },
});

export const deleteVersions = defineTableOperation({
  id: 'batch_delete_table_versions',
  path: '/v1/table/:id/version/delete',
  summary: 'Delete versions from the history of a table',
  permission: 'manage',
  body: { kind: 'json', shape: DeleteVersionsBody },
  replies: [json(DeleteVersionsReply, 'The number of deleted versions.')],
  statuses: [409],
  async run(request, services) {
    const { table, body } = request;
    const target = { location: table.location, branch: body.branch };
    const ranges = readRanges(body, services.limits.http.pageSizeMax);
    if (table.heldVersion !== undefined) {
      throw new ServiceError('ServiceUnavailable', 'The table is being overwritten.', { retryAfterSeconds: 5 });
    }
    return runChange(request, services, async () => {
      const { versions, latest } = await services.engine.versions.remove(target, ranges);
      const fields = { deleted_count: versions.length };
      return { version: latest, branch: body.branch, removedVersions: versions, fields };
    });
  },
});

function selectAfter(versions: readonly TableVersion[], after: number | undefined, isDescending: boolean) {
  const ordered = isDescending ? versions.toReversed() : versions;
  if (after === undefined) return ordered;
  return ordered.filter(({ version }) => (isDescending ? version < after : version > after));
}

function readToken(token: string | undefined): number | undefined {
  if (token === undefined) return undefined;
  if (/^\d{1,15}$/.test(token)) return Number(token);
  throw unknownPageToken();
}

function readDescending(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (text === 'true' || text === 'false') return text === 'true';
  throw invalidInput('The query parameter descending must be true or false.');
}

export function readRanges({ ranges }: DeleteVersionsBody, rangesMax: number): readonly VersionRange[] {
  if (ranges.length === 0 || ranges.length > rangesMax) {
    const hint = `Give 1 to ${rangesMax} entries, such as {"start_version": 1, "end_version": 5}.`;
    throw invalidInput(`ranges has ${ranges.length} entries.`, hint);
  }
  return ranges.map(({ start_version, end_version }, index) => {
    if (end_version === -1) return { start: start_version, end: undefined };
    if (end_version > start_version) return { start: start_version, end: end_version };
    throw invalidInput(`ranges[${index}] ends before it starts.`, 'The start is inclusive, the end exclusive.');
  });
}

/** Adds metadata of external writers to the engine's statistics. */
async function addMetadata(
  { id: tableId, properties }: TableRecord,
  { branch }: Pick<TableState, 'branch'>,
  versions: readonly TableVersion[],
  { catalog }: Services,
): Promise<readonly TableVersion[]> {
  // Without this property there never was an external writer.
  if (properties[MANAGED_PROPERTY] === undefined) return versions;
  // Works for either order.
  const [first = 0, last = 0] = [versions.at(0)?.version, versions.at(-1)?.version];
  const span = { from: Math.min(first, last), to: Math.max(first, last) };
  const found = await catalog.versionMetadata.list({ tableId, branch, ...span });
  return versions.map((version) => {
    const { entries, committedAtMicroseconds } = found.get(version.version) ?? NO_METADATA;
    const isOfVersion = committedAtMicroseconds === version.committedAtMicroseconds;
    return isOfVersion ? { ...version, metadata: { ...version.metadata, ...entries } } : version;
  });
}

const NO_METADATA = { entries: {}, committedAtMicroseconds: undefined };

/** Uses the names that both client families read. */
function toVersionShape({ version, committedAtMicroseconds, metadata, manifestPath }: TableVersion) {
  const milliseconds = Math.floor(committedAtMicroseconds / 1000);
  // Keeps the engine's microseconds: two commits may share a millisecond.
  const microseconds = String(committedAtMicroseconds % 1000).padStart(3, '0');
  const timestamp = new Date(milliseconds).toISOString().replace('Z', `${microseconds}Z`);
  return { version, timestamp, timestamp_millis: milliseconds, metadata, manifest_path: manifestPath };
}

async function toMeasuredShape(table: TableRecord, version: TableVersion, { engine }: Services) {
  const shape = toVersionShape(version);
  const manifest_size = await engine.versions.measure(table.location, version);
  // Writers of managed tables open the path in their own store.
  return { ...shape, ...(isManaged(table) ? { manifest_path: toStorePath(shape.manifest_path) } : {}), manifest_size };
}
