import { ServiceError, invalidInput } from '../errors/service-error.ts';
import { guardProperties } from '../guard/metadata.ts';
import { isPermitted, visibleNamespaces } from '../model/access.ts';
import { NO_DELIMITER, checkName } from '../model/identifier.ts';
import type { NamespacePath } from '../model/identifier.ts';
import { namespaceNotFound, notPermitted } from '../model/refusals.ts';
import {
  CreateNamespaceBody,
  CreateNamespaceReply,
  DescribeNamespaceReply,
  DropNamespaceBody,
  DropNamespaceReply,
  ListNamespacesQuery,
  ListNamespacesReply,
} from '../wire/namespaces.ts';
import { EmptyBody } from '../wire/shapes.ts';
import { defineNamespaceOperation, defineNewNamespaceOperation, json, objectReply, toShownPath } from './operation.ts';
import type { NamespaceRequest, Reply } from './operation.ts';
import type { Services } from './services.ts';
import { collectPages, cutPage, readLimit, readNameToken } from './shared/pages.ts';
import { readWord } from './shared/parameters.ts';
import { toCommitEntry } from './shared/record-commit.ts';
import { removeData } from './tables/drop-table.ts';

export const createNamespace = defineNewNamespaceOperation({
  id: 'create_namespace',
  path: '/v1/namespace/:id/create',
  summary: 'Create a namespace',
  permission: 'write',
  body: { kind: 'json', shape: CreateNamespaceBody },
  replies: [json(CreateNamespaceReply, 'The current state of the namespace.')],
  statuses: [409],
  async run(request, services) {
    const mode = readWord('mode', request.body.mode, ['create', 'exist_ok', 'overwrite']);
    guardProperties(request.body.properties ?? {}, 'properties', services.limits.metadata);
    switch (mode) {
      case 'create':
        return create(request, services);
      case 'exist_ok':
        return createOrKeep(request, services);
      case 'overwrite':
        return replace(request, services);
    }
  },
});

export const describeNamespace = defineNamespaceOperation({
  id: 'describe_namespace',
  path: '/v1/namespace/:id/describe',
  pathOfRoot: '/v1/namespace/describe',
  summary: 'Describe a namespace',
  permission: 'see',
  body: { kind: 'json', shape: EmptyBody },
  replies: [json(DescribeNamespaceReply, 'The namespace.')],
  async run(request, services) {
    const { database, namespace: path, delimiter } = request;
    const namespace = await services.catalog.namespaces.find(database.id, path);
    if (namespace === undefined) throw namespaceNotFound(toShownPath(request, path), delimiter);
    return objectReply<typeof DescribeNamespaceReply>({ properties: namespace.properties });
  },
});

export const namespaceExists = defineNamespaceOperation({
  id: 'namespace_exists',
  path: '/v1/namespace/:id/exists',
  pathOfRoot: '/v1/namespace/exists',
  summary: 'Check whether a namespace exists',
  permission: 'see',
  body: { kind: 'json', shape: EmptyBody },
  replies: [{ description: 'The namespace exists. The reply has no body.' }],
  run: async () => ({ kind: 'empty' }),
});

export const listNamespaces = defineNamespaceOperation({
  id: 'list_namespaces',
  methods: ['GET'],
  path: '/v1/namespace/:id/list',
  pathOfRoot: '/v1/namespace/list',
  summary: 'List the namespaces directly below a namespace',
  permission: 'see',
  query: ListNamespacesQuery,
  replies: [json(ListNamespacesReply, 'Namespace names, in order.')],
  async run({ caller, database, namespace: parent, query }, services) {
    const limit = readLimit(query, services.limits.http.unpagedNamesMax);
    const token = readNameToken(query['page_token'], (name) => checkName(name, NO_DELIMITER));
    const start = token === undefined ? undefined : [...parent, token];
    const children = visibleNamespaces(caller, database.name, parent);
    const paths = children === 'all' ? undefined : children.map((name) => [...parent, name]);
    const page = { databaseId: database.id, parent, paths };
    const found = await collectPages<NamespacePath>(limit + 1, async (last, wanted) =>
      services.catalog.namespaces.list({ ...page, after: last ?? start, limit: wanted }),
    );
    const names = found.map((path) => path.at(-1) ?? '');
    const { entries, page_token } = cutPage(names, limit, (last) => last);
    return objectReply<typeof ListNamespacesReply>({ namespaces: entries, page_token });
  },
});

export const dropNamespace = defineNamespaceOperation({
  id: 'drop_namespace',
  path: '/v1/namespace/:id/drop',
  summary: 'Drop a namespace; with behavior "cascade", also its contents',
  permission: 'manage',
  mayBeAbsent: true,
  body: { kind: 'json', shape: DropNamespaceBody },
  replies: [json(DropNamespaceReply, 'The namespace that was dropped.')],
  statuses: [409],
  async run(request, services) {
    const { database, namespace: path, body } = request;
    const mode = readWord('mode', body.mode, ['fail', 'skip']);
    const behavior = readWord('behavior', body.behavior, ['restrict', 'cascade']);
    const shown = toShownPath(request, path);
    if (shown.length === 0) throw invalidInput('The root namespace cannot be dropped.');

    const found = await services.catalog.namespaces.find(database.id, path);
    const drop = { databaseId: database.id, path, behavior };
    const dropped = await services.catalog.namespaces.drop(drop, toCommitEntry(request));
    if (dropped === undefined) {
      if (mode === 'fail') throw namespaceNotFound(shown, request.delimiter);
      return objectReply<typeof DropNamespaceReply>({});
    }
    await removeData(services, dropped.removals);
    // Clients expect an array here, unlike in all other replies.
    return objectReply<typeof DropNamespaceReply>({
      properties: found?.properties ?? {},
      transaction_id: [dropped.transactionId],
    });
  },
});

type CreateRequest = NamespaceRequest<CreateNamespaceBody>;

async function create(request: CreateRequest, services: Services): Promise<Reply> {
  const namespace = toNamespace(request);
  const { transactionId } = await services.catalog.namespaces.create(namespace, toCommitEntry(request));
  return replyWithNamespace(namespace.properties, transactionId);
}

async function createOrKeep(request: CreateRequest, services: Services): Promise<Reply> {
  try {
    return await create(request, services);
  } catch (error) {
    if (!isTaken(error)) throw error;
    const kept = await services.catalog.namespaces.find(request.database.id, request.namespace);
    // It may have been dropped in between.
    return kept === undefined ? create(request, services) : replyWithNamespace(kept.properties, undefined);
  }
}

/** Drops the whole contents, which requires a higher permission than creating a namespace. */
async function replace(request: CreateRequest, services: Services): Promise<Reply> {
  const { caller, database, namespace: path } = request;
  if (!isPermitted(caller, 'manage', database.name, path)) return createUnlessTaken(request, services);
  const namespace = toNamespace(request);
  const { transactionId, removals } = await services.catalog.namespaces.replace(namespace, toCommitEntry(request));
  await removeData(services, removals);
  return replyWithNamespace(namespace.properties, transactionId);
}

async function createUnlessTaken(request: CreateRequest, services: Services): Promise<Reply> {
  try {
    return await create(request, services);
  } catch (error) {
    throw isTaken(error) ? notPermitted('manage') : error;
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof ServiceError && error.kind === 'NamespaceAlreadyExists';
}

function toNamespace({ database, namespace, body }: CreateRequest) {
  return { databaseId: database.id, path: namespace, properties: body.properties ?? {} };
}

function replyWithNamespace(properties: Readonly<Record<string, string>>, transactionId: string | undefined): Reply {
  return objectReply<typeof CreateNamespaceReply>({ properties, transaction_id: transactionId });
}
