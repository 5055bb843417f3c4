import { visibleNamespaces } from '../../model/caller.ts';
import type { NamespacePath } from '../../model/identifier.ts';
import { ListNamespacesReply, PageQuery } from '../../wire/namespaces.ts';
import { collectPages } from '../collect-pages.ts';
import { defineNamespaceOperation } from '../operation.ts';
import type { NamespaceRequest, Reply } from '../operation.ts';
import { readLimit } from '../page-limit.ts';
import type { Services } from '../services.ts';

export const listNamespaces = defineNamespaceOperation({
  id: 'list_namespaces',
  methods: ['GET'],
  path: '/v1/namespace/:id/list',
  pathOfRoot: '/v1/namespace/list',
  summary: 'List the namespaces directly below one that the caller may see',
  permission: 'see',
  body: { kind: 'none' },
  query: PageQuery,
  replies: [{ mediaType: 'application/json', shape: ListNamespacesReply, description: 'Names in order.' }],
  statuses: [],
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
