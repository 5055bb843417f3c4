import { checkColumnName } from '../../arrow/schema/schema-rules.ts';
import { invalidInput } from '../../errors/service-error.ts';
import { isPermitted, isVisible } from '../../model/access.ts';
import { VIEW_PROPERTY, readViewDefinition, readViewState } from '../../model/derived/view.ts';
import type { ViewDefinition } from '../../model/derived/view.ts';
import { belowPrefix, formatPath } from '../../model/identifier.ts';
import { notPermitted, tableNotFound } from '../../model/refusals.ts';
import type { TableRecord } from '../../model/table.ts';
import { JobStartedReply } from '../../wire/columns.ts';
import { EmptyBody } from '../../wire/shapes.ts';
import {
  CreateViewBody,
  CreateViewReply,
  DescribeViewReply,
  ListViewsQuery,
  ListViewsReply,
  RefreshViewBody,
} from '../../wire/views.ts';
import {
  defineNamespaceOperation,
  defineNewTableOperation,
  defineTableOperation,
  json,
  objectReply,
  toShownPath,
} from '../operation.ts';
import type { RequestFacts } from '../operation.ts';
import type { Services } from '../services.ts';
import { collectPages, cutPage, readLimit } from '../shared/pages.ts';
import { toTableState } from '../shared/table-state.ts';
import { dropTable } from '../tables/drop-table.ts';
import { alreadyExists, claimName, publishData, writeData } from '../tables/new-table.ts';
import { readView, toColumn } from './view-definition.ts';

export const createMaterializedView = defineNewTableOperation({
  id: 'create_materialized_view',
  path: '/v1/materialized_view/:id/create',
  summary: 'Create a materialized view: rows of one table, filtered, projected and limited',
  permission: 'write',
  status: 201,
  statuses: [409],
  body: { kind: 'json', shape: CreateViewBody },
  replies: [json(CreateViewReply, 'The version of the view, which has no rows yet.')],
  async run(request, services) {
    const { body, delimiter } = request;
    const asked = readView(body, delimiter, services.limits);
    const source = await requireReadable(request, asked.source, services);
    const columns = asked.columns ?? (await listColumns(source, services));
    for (const [name] of columns) checkColumnName(name);
    const definition: ViewDefinition = {
      sourceId: source.id,
      source: source.path,
      ...(asked.filter === undefined ? {} : { filter: asked.filter }),
      columns,
      ...(asked.limit === undefined ? {} : { limit: asked.limit }),
      refresh: asked.refresh,
    };
    const empty = await services.views.openEmpty(source, definition);
    const ingest = { ...request, openStream: async () => empty };
    const claim = await claimName(ingest, services, { waits: false });
    if (claim.kind === 'taken') throw alreadyExists(ingest);
    const { version } = await writeData(claim.reservation, ingest, services);
    const properties = { [VIEW_PROPERTY]: JSON.stringify(definition) };
    const publication = { version, properties, fields: {}, isKept: false };
    const { transactionId } = await publishData(claim.reservation, ingest, publication, services);
    const job_id = body.with_no_data === false ? await startFirst(request, services) : undefined;
    return { ...objectReply<typeof CreateViewReply>({ version, job_id, transaction_id: transactionId }), status: 201 };
  },
});

export const refreshMaterializedView = defineTableOperation({
  id: 'refresh_materialized_view',
  path: '/v1/materialized_view/:id/refresh',
  summary: 'Bring a materialized view up to date, by adding what was appended to its source or by building it anew',
  permission: 'write',
  status: 202,
  body: { kind: 'json', shape: RefreshViewBody },
  replies: [json(JobStartedReply, 'The job that refreshes it.')],
  async run(request, services) {
    const { table, body, caller, requestId } = request;
    const definition = requireView(table);
    if (body.output_limit !== undefined && body.output_limit !== null) {
      throw invalidInput('output_limit is for views of the kind chunker.', 'Create the view with a limit.');
    }
    const source = await services.views.findSource(definition);
    if (source === undefined) throw tableNotFound(toShown(request, definition.source), request.delimiter);
    requireRead(request, source);
    const sourceVersion = body.src_version ?? undefined;
    // Refuses a version that is not there.
    if (sourceVersion !== undefined)
      await services.engine.describeTable(toTableState(source, { version: sourceVersion }));
    const job = services.views.start({ view: table, sourceVersion, caller: caller.id, requestId });
    await job.recorded;
    return { ...objectReply<typeof JobStartedReply>({ job_id: job.id }), status: 202 };
  },
});

export const describeMaterializedView = defineTableOperation({
  id: 'describe_materialized_view',
  path: '/v1/materialized_view/:id/describe',
  summary: 'Describe a materialized view: what it is made from, and how far it is behind',
  permission: 'read',
  body: { kind: 'json', shape: EmptyBody },
  replies: [json(DescribeViewReply, 'The view.')],
  async run(request, services) {
    const { table } = request;
    const definition = requireView(table);
    const source = await services.views.findSource(definition);
    const latest = source && (await services.engine.describeTable(toTableState(source, {})));
    return objectReply<typeof DescribeViewReply>({
      ...toSummary(request, table, { ...definition, source: source?.path ?? definition.source }),
      filter: definition.filter,
      columns: Object.fromEntries(definition.columns),
      limit: definition.limit,
      source_latest_version: latest?.version,
    });
  },
});

export const dropMaterializedView = defineTableOperation({
  id: 'drop_materialized_view',
  path: '/v1/materialized_view/:id/drop',
  summary: 'Drop a materialized view and remove its data',
  permission: 'manage',
  ignoresData: true,
  followsRename: 'never',
  body: { kind: 'json', shape: EmptyBody },
  replies: dropTable.replies,
  async run(request, services) {
    requireView(request.table);
    return dropTable.run(request, services);
  },
});

export const listMaterializedViews = defineNamespaceOperation({
  id: 'list_materialized_views',
  methods: ['GET'],
  path: '/v1/namespace/:id/materialized_view/list',
  summary: 'List the materialized views in a namespace and below it that the caller may read',
  permission: 'see',
  query: ListViewsQuery,
  replies: [json(ListViewsReply, 'The views, in the order of their creation.')],
  async run(request, services) {
    const { query, caller, database, namespace } = request;
    const size = readLimit(query, services.limits.http.pageSizeMax);
    const isBelow = (path: readonly string[]): boolean => namespace.every((name, index) => path[index] === name);
    const found = await collectPages<TableRecord>(
      size + 1,
      async (last, limit) =>
        services.catalog.tables.listWithProperty(VIEW_PROPERTY, {
          after: last?.id ?? query['page_token'] ?? '',
          limit,
        }),
      ({ databaseId, path }) =>
        databaseId === database.id && isBelow(path) && isPermitted(caller, 'read', database.name, path),
    );
    const { entries, page_token } = cutPage(found, size, ({ id }) => id);
    const views = entries.map((view) => toSummary(request, view, requireView(view)));
    return objectReply<typeof ListViewsReply>({ views, page_token });
  },
});

/** A table that the caller may not see is refused like one that does not exist. */
async function requireReadable(
  request: RequestFacts,
  shown: ViewDefinition['source'],
  services: Services,
): Promise<TableRecord> {
  const { caller, database, prefix, delimiter } = request;
  const path = belowPrefix(prefix, shown);
  const found = isVisible(caller, database.name, path)
    ? await services.catalog.tables.find(database.id, path)
    : undefined;
  if (found === undefined) throw tableNotFound(shown, delimiter);
  requireRead(request, found);
  return found;
}

function requireRead({ caller, database }: RequestFacts, { path }: TableRecord): void {
  if (!isPermitted(caller, 'read', database.name, path)) throw notPermitted('read');
}

/** Columns that the source gets later do not change the view. */
async function listColumns(source: TableRecord, { engine }: Services): Promise<ViewDefinition['columns']> {
  const { schema } = await engine.describeTable(toTableState(source, {}));
  return schema.fields.map(({ name }) => toColumn(name));
}

async function startFirst(
  { database, path, caller, requestId }: RequestFacts & { readonly path: TableRecord['path'] },
  services: Services,
): Promise<string | undefined> {
  const view = await services.catalog.tables.find(database.id, path);
  if (view === undefined) return undefined;
  const job = services.views.start({ view, sourceVersion: undefined, caller: caller.id, requestId });
  await job.recorded;
  return job.id;
}

function requireView(table: TableRecord): ViewDefinition {
  const definition = readViewDefinition(table);
  if (definition !== undefined) return definition;
  throw invalidInput('The table is not a materialized view.', 'Create one with materialized_view/{id}/create.');
}

function toSummary(request: RequestFacts, view: TableRecord, { source, refresh }: ViewDefinition) {
  const state = readViewState(view);
  return {
    table: formatPath(toShownPath(request, view.path), request.delimiter),
    source: formatPath(toShownPath(request, source), request.delimiter),
    refresh: refresh.mode,
    refresh_seconds: refresh.mode === 'schedule' ? refresh.seconds : undefined,
    source_version: state?.sourceVersion,
    refreshed_at_millis: state?.refreshedAt,
    last_refresh: state?.how,
  };
}

function toShown(request: RequestFacts, path: ViewDefinition['source']): ViewDefinition['source'] {
  const [first = '', ...rest] = toShownPath(request, path);
  return [first, ...rest];
}
