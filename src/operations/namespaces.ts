import { ServiceError } from '../errors/service-error.ts';
import { guardProperties } from '../guard/metadata.ts';
import { isPermitted, visibleNamespaces } from '../model/access.ts';
import { notPermitted, namespaceNotFound } from '../model/refusals.ts';
import {
  CreateNamespaceBody,
  CreateNamespaceReply,
  DescribeNamespaceReply,
  NamespaceBody,
  DropNamespaceBody,
  DropNamespaceReply,
  ListNamespacesReply,
  ListNamespacesQuery,
} from '../wire/namespaces.ts';
import { toNameEntry } from './shared/record-commit.ts';
import { defineNewNamespaceOperation, defineNamespaceOperation, json } from './operation.ts';
import type { NamespaceRequest, Reply } from './operation.ts';
import { removeData } from './shared/remove-data.ts';
import type { Services } from './services.ts';
import { readWord } from './shared/parameters.ts';
import { NoContent } from '../wire/shapes.ts';
import { toShownPath } from './shared/shown-path.ts';
import type { NamespacePath } from '../model/identifier.ts';
import { collectPages, readLimit } from './shared/pages.ts';

export const createNamespace = defineNewNamespaceOperation({
  id: 'create_namespace',
  path: '/v1/namespace/:id/create',
  summary: 'Create a namespace',
  permission: 'write',
  body: { kind: 'json', shape: CreateNamespaceBody },
  replies: [json(CreateNamespaceReply, 'The namespace as it is now.')],
  statuses: [409],
  run: create,
});

type Request = NamespaceRequest<CreateNamespaceBody>;

async function create(request: Request, services: Services): Promise<Reply> {
  const mode = readWord('mode', request.body.mode, ['create', 'exist_ok', 'overwrite']);
  const { properties = {} } = request.body;
  guardProperties(properties, 'properties', services.limits.metadata);
  switch (mode) {
    case 'create':
      return createNew(request, services);
    case 'exist_ok':
      return createOrKeep(request, services);
    case 'overwrite':
      return replace(request, services);
  }
}

async function createNew(request: Request, services: Services): Promise<Reply> {
  const { namespaces } = services.catalog;
  const made = toNamespace(request);
  const { transactionId } = await namespaces.create(made, toNameEntry(request, 'create_namespace'));
  return toReply(made.properties, transactionId);
}

async function createOrKeep(request: Request, services: Services): Promise<Reply> {
  try {
    return await createNew(request, services);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'NamespaceAlreadyExists') throw error;
    const kept = await services.catalog.namespaces.find(request.database.id, request.namespace);
    // Dropped in between: to create it is then as good as new.
    return kept === undefined ? createNew(request, services) : toReply(kept.properties, undefined);
  }
}

/** All that was inside is dropped, so that more is needed than for a namespace that is not there. */
async function replace(request: Request, services: Services): Promise<Reply> {
  const { caller, database, namespace } = request;
  const isThere = await services.catalog.namespaces.exists(database.id, namespace);
  if (isThere && !isPermitted(caller, 'manage', database.name, namespace)) throw notPermitted('manage');
  const made = toNamespace(request);
  const entry = toNameEntry(request, 'create_namespace');
  const { transactionId, removals } = await services.catalog.namespaces.replace(made, entry);
  await removeData(services, removals);
  return toReply(made.properties, transactionId);
}

function toNamespace({ database, namespace, body }: Request) {
  return { databaseId: database.id, path: namespace, properties: body.properties ?? {} };
}

function toReply(properties: Readonly<Record<string, string>>, transactionId: string | undefined): Reply {
  const reply: CreateNamespaceReply = {
    properties: { ...properties },
    ...(transactionId === undefined ? {} : { transaction_id: transactionId }),
  };
  return { kind: 'object', body: reply };
}

export const describeNamespace = defineNamespaceOperation({
  id: 'describe_namespace',
  path: '/v1/namespace/:id/describe',
  pathOfRoot: '/v1/namespace/describe',
  summary: 'Describe a namespace: its properties',
  permission: 'see',
  body: { kind: 'json', shape: NamespaceBody },
  replies: [json(DescribeNamespaceReply, 'The namespace.')],
  run: describe,
});

export const namespaceExists = defineNamespaceOperation({
  id: 'namespace_exists',
  path: '/v1/namespace/:id/exists',
  pathOfRoot: '/v1/namespace/exists',
  summary: 'Tell by the status whether a namespace exists',
  permission: 'see',
  body: { kind: 'json', shape: NamespaceBody },
  replies: [json(NoContent, 'It exists. No body.')],
  run: async () => ({ kind: 'empty' }),
});

async function describe(request: NamespaceRequest<NamespaceBody>, services: Services): Promise<Reply> {
  const { database, namespace: path, delimiter } = request;
  const namespace = await services.catalog.namespaces.find(database.id, path);
  if (namespace === undefined) throw namespaceNotFound(toShownPath(request, path), delimiter);
  const reply: DescribeNamespaceReply = { properties: { ...namespace.properties } };
  return { kind: 'object', body: reply };
}

export const dropNamespace = defineNamespaceOperation({
  id: 'drop_namespace',
  path: '/v1/namespace/:id/drop',
  summary: 'Drop a namespace, and with behavior "cascade" all that is inside',
  permission: 'manage',
  mayBeAbsent: true,
  body: { kind: 'json', shape: DropNamespaceBody },
  replies: [json(DropNamespaceReply, 'What it was.')],
  statuses: [409],
  run: drop,
});

async function drop(request: NamespaceRequest<DropNamespaceBody>, services: Services): Promise<Reply> {
  const { database, namespace: path, body } = request;
  const mode = readWord('mode', body.mode, ['fail', 'skip']);
  const behavior = readWord('behavior', body.behavior, ['restrict', 'cascade']);
  const shown = toShownPath(request, path);
  if (shown.length === 0) throw new ServiceError('InvalidInput', 'The root namespace cannot be dropped.');

  const found = await services.catalog.namespaces.find(database.id, path);
  const entry = toNameEntry(request, 'drop_namespace');
  const dropped = await services.catalog.namespaces.drop({ databaseId: database.id, path, behavior }, entry);
  if (dropped === undefined) {
    if (mode === 'fail') throw namespaceNotFound(shown, request.delimiter);
    return { kind: 'object', body: {} };
  }
  await removeData(services, dropped.removals);
  // An array, where all other replies have one text: the clients read nothing else here.
  const reply: DropNamespaceReply = {
    properties: { ...found?.properties },
    transaction_id: [dropped.transactionId],
  };
  return { kind: 'object', body: reply };
}

export const listNamespaces = defineNamespaceOperation({
  id: 'list_namespaces',
  methods: ['GET'],
  path: '/v1/namespace/:id/list',
  pathOfRoot: '/v1/namespace/list',
  summary: 'List the namespaces directly below one that the caller may see',
  permission: 'see',
  body: { kind: 'none' },
  query: ListNamespacesQuery,
  replies: [json(ListNamespacesReply, 'Names in order.')],
  run: list,
});

async function list(request: NamespaceRequest, services: Services): Promise<Reply> {
  const { caller, database, namespace: parent, query } = request;
  const limit = readLimit(query, services.limits.http.unpagedNamesMax);
  const token = query['page_token'];
  const start = token === undefined || token === '' ? undefined : [...parent, token];
  const children = visibleNamespaces(caller, database.name, parent);
  const paths = children === 'all' ? {} : { paths: children.map((name) => [...parent, name]) };
  const found = await collectPages<NamespacePath>(limit + 1, async (last, wanted) => {
    const after = last ?? start;
    const page = { databaseId: database.id, parent, ...paths, limit: wanted };
    return services.catalog.namespaces.list(after === undefined ? page : { ...page, after });
  });
  const names = found.slice(0, limit).map((path) => path.at(-1) ?? '');
  const last = names.at(-1);
  const reply: ListNamespacesReply = {
    namespaces: names,
    ...(found.length > limit && last !== undefined ? { page_token: last } : {}),
  };
  return { kind: 'object', body: reply };
}
