import { setImmediate as nextTurn } from 'node:timers/promises';
import { checkColumnName } from '../../arrow/schema/schema-rules.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { isPermitted } from '../../model/access.ts';
import { VIEW_PROPERTY, readViewDefinition, readViewState } from '../../model/derived/view.ts';
import type { ViewDefinition, ViewState } from '../../model/derived/view.ts';
import { belowPrefix, formatPath, isWithin, nameOf, namespaceOf, quoteForMessage } from '../../model/identifier.ts';
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
import { cutPage, readIdToken, readLimit } from '../shared/pages.ts';
import { toTableState } from '../shared/table-state.ts';
import { checkDeclared } from '../tables/declared-tables.ts';
import { dropTable } from '../tables/drop-table.ts';
import { alreadyExists, claimName, publishData, writeData } from '../tables/new-table.ts';
import { readView, toColumn } from './view-definition.ts';

export const createMaterializedView = defineNewTableOperation({
  id: 'create_materialized_view',
  path: '/v1/materialized_view/:id/create',
  summary: 'Create a materialized view of one table',
  permission: 'write',
  status: 201,
  statuses: [409],
  body: { kind: 'json', shape: CreateViewBody, normalize: toContractView },
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
    const recordedAs = request.write.operation;
    const publication = { version, properties, fields: {}, isKept: false, recordedAs };
    const { transactionId } = await publishData(claim.reservation, ingest, publication, services);
    const job_id = body.with_no_data === false ? await startFirst(request, services) : undefined;
    const reply = objectReply<typeof CreateViewReply>({ version, job_id, transaction_id: transactionId });
    // LanceDB's client reads the job id only if the status is 202.
    return { ...reply, status: job_id !== undefined && request.dialect === 'lancedb' ? 202 : 201 };
  },
});

export const refreshMaterializedView = defineTableOperation({
  id: 'refresh_materialized_view',
  path: '/v1/materialized_view/:id/refresh',
  summary: 'Refresh a materialized view, incrementally where possible',
  permission: 'write',
  status: 202,
  body: { kind: 'json', shape: RefreshViewBody, normalize: toContractRefresh },
  replies: [json(JobStartedReply, 'The job that refreshes the view.')],
  async run(request, services) {
    const { table, body, caller, requestId } = request;
    const definition = requireView(table);
    if (body.output_limit !== undefined && body.output_limit !== null) {
      throw invalidInput('output_limit is only for views of the kind chunker.', 'Create the view with a limit.');
    }
    const source = await services.views.findSource(definition);
    if (source === undefined) throw sourceDropped(request, definition);
    if (!mayRead(request, source.path)) throw notPermitted('read');
    requireSame(table, body.expected_incarnation);
    const sourceVersion = body.src_version ?? undefined;
    // Refuses a version that does not exist.
    if (sourceVersion !== undefined)
      await services.engine.describeTable(toTableState(source, { version: sourceVersion }));
    const isFull = body.full === true;
    const job = services.views.start({ view: table, sourceVersion, isFull, caller: caller.id, requestId });
    await job.recorded;
    return { ...objectReply<typeof JobStartedReply>({ job_id: job.id }), status: 202 };
  },
});

export const describeMaterializedView = defineTableOperation({
  id: 'describe_materialized_view',
  path: '/v1/materialized_view/:id/describe',
  summary: 'Describe a materialized view: its query, and how far it is behind its source',
  permission: 'read',
  body: { kind: 'json', shape: EmptyBody },
  replies: [json(DescribeViewReply, 'The view.')],
  async run(request, services) {
    const { table } = request;
    const definition = requireView(table);
    const found = await services.views.findSource(definition);
    const source = found && mayRead(request, found.path) ? found : undefined;
    const latest = source && (await services.engine.describeTable(toTableState(source, {})));
    return objectReply<typeof DescribeViewReply>({
      ...toSummary(request, toListedView(table), found?.path),
      filter: definition.filter,
      columns: Object.fromEntries(definition.columns),
      limit: definition.limit,
      source_latest_version: latest?.version,
      projections: definition.columns.map(([column, expression]) => ({ output_column: column, expression })),
      incarnation: table.id,
    });
  },
});

export const dropMaterializedView = defineTableOperation({
  id: 'drop_materialized_view',
  path: '/v1/materialized_view/:id/drop',
  summary: 'Drop a materialized view and delete its data',
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
  summary: 'List the materialized views in a namespace and below',
  permission: 'see',
  query: ListViewsQuery,
  replies: [json(ListViewsReply, 'The views, in order of creation.')],
  async run(request, services) {
    const { query, database, namespace, dialect } = request;
    const size = readLimit(query, services.limits.http.pageSizeMax);
    // LanceDB's client expects single names, so it only gets views directly in the namespace.
    const depth = dialect === 'lancedb' ? namespace.length + 1 : Infinity;
    const isListed = (path: readonly string[]): boolean => path.length <= depth && isWithin(path, namespace);
    const found: ListedView[] = [];
    for (let next = readIdToken(query['page_token']) ?? ''; found.length <= size;) {
      const page = await services.catalog.tables.listWithProperty(VIEW_PROPERTY, {
        databaseId: database.id,
        after: next,
      });
      const visible = page.tables.filter(({ path }) => isListed(path) && mayRead(request, path));
      found.push(...visible.map(toListedView));
      if (page.next === undefined) break;
      next = page.next;
      await nextTurn();
    }
    const { entries, page_token } = cutPage(found, size, ({ id }) => id);
    if (dialect === 'lancedb') {
      const names = entries.map(({ path }) => nameOf(path));
      return { kind: 'object', body: { views: names, page_token } };
    }
    const views: ReturnType<typeof toSummary>[] = [];
    for (const view of entries) {
      views.push(toSummary(request, view, await services.catalog.tables.findPath(view.definition.sourceId)));
    }
    return objectReply<typeof ListViewsReply>({ views, page_token });
  },
});

type JsonObject = Readonly<Record<string, unknown>>;

/** LanceDB's client sends only the query, under another name. */
function toContractView({ query, ...body }: JsonObject): Record<string, unknown> {
  if (query === undefined) return body;
  return 'source_query' in body ? { query, ...body } : { kind: 'query', source_query: query, ...body };
}

/** LanceDB's client also has another name for the version. */
function toContractRefresh({ source_version: version, ...body }: JsonObject): Record<string, unknown> {
  if (version === undefined) return body;
  return 'src_version' in body ? { source_version: version, ...body } : { src_version: version, ...body };
}

/** A view that was dropped and created again under the same name is a different one. */
function requireSame({ id }: TableRecord, expected: string | undefined): void {
  if (expected === undefined || expected === id) return;
  throw new ServiceError('InvalidTableState', 'The view has a different incarnation than expected_incarnation.', {
    hint: 'Describe the view to get its incarnation.',
  });
}

/** A table that the caller may not read is refused as if it did not exist. */
async function requireReadable(
  request: RequestFacts,
  shown: ViewDefinition['source'],
  services: Services,
): Promise<TableRecord> {
  const { database, prefix, delimiter } = request;
  const path = belowPrefix(prefix, shown);
  const found = mayRead(request, path) ? await services.catalog.tables.find(database.id, path) : undefined;
  if (found === undefined) throw tableNotFound(shown, delimiter);
  return checkDeclared(found, services);
}

function mayRead({ caller, database }: RequestFacts, path: TableRecord['path']): boolean {
  return isPermitted(caller, 'read', database.name, path);
}

/** Columns that are added to the source later do not change the view. */
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
  const job = services.views.start({ view, caller: caller.id, requestId });
  await job.recorded;
  return job.id;
}

function requireView(table: TableRecord): ViewDefinition {
  const definition = readViewDefinition(table);
  if (definition !== undefined) return definition;
  throw invalidInput('The table is not a materialized view.', 'Create one with materialized_view/{id}/create.');
}

function sourceDropped(request: RequestFacts, { source }: ViewDefinition): ServiceError {
  const name = quoteForMessage(formatPath(toShown(request, source), request.delimiter));
  return new ServiceError('TableNotFound', `The source of the view, ${name}, was dropped.`, {
    hint: 'Drop the view and create it again. A table that was created later under the name of the source is another one.',
  });
}

/** Part of a view's record: its properties and expressions may be large. */
interface ListedView extends Pick<TableRecord, 'id' | 'path'> {
  readonly definition: Pick<ViewDefinition, 'sourceId' | 'source' | 'refresh'>;
  readonly state: ViewState | undefined;
}

function toListedView(view: TableRecord): ListedView {
  const { id, path } = view;
  const { sourceId, source, refresh } = requireView(view);
  return { id, path, definition: { sourceId, source, refresh }, state: readViewState(view) };
}

/**
 * `source` is its current path, unless it was dropped. Callers who may not read the source do not see that it was
 * renamed.
 */
function toSummary(request: RequestFacts, view: ListedView, source: TableRecord['path'] | undefined) {
  const { definition, state } = view;
  const { refresh } = definition;
  const path = source !== undefined && mayRead(request, source) ? source : definition.source;
  const [id, shown] = [toShownPath(request, view.path), toShown(request, path)];
  return {
    id,
    table: formatPath(id, request.delimiter),
    source: formatPath(shown, request.delimiter),
    source_table: nameOf(shown),
    source_namespace: [...namespaceOf(shown)],
    source_dropped: source === undefined || undefined,
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
