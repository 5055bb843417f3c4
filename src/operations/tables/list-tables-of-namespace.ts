import { readableTables } from '../../model/caller.ts';
import { nameOf } from '../../model/identifier.ts';
import type { NamespacePath, TablePath } from '../../model/identifier.ts';
import type { TableRecord } from '../../model/table.ts';
import { ListTablesOfQuery } from '../../wire/lifecycle.ts';
import { ListTablesReply } from '../../wire/tables.ts';
import { collectPages } from '../collect-pages.ts';
import { defineNamespaceOperation } from '../operation.ts';
import type { NamespaceRequest, Reply, RequestFacts } from '../operation.ts';
import { readLimit } from '../page-limit.ts';
import type { Services } from '../services.ts';
import { leaveOutDeclared } from './declared-tables.ts';

export const listTablesOfNamespace = defineNamespaceOperation({
  id: 'list_tables_of_namespace',
  methods: ['GET'],
  path: '/v1/namespace/:id/table/list',
  summary: 'List the tables directly in a namespace that the caller may see',
  permission: 'see',
  body: { kind: 'none' },
  query: ListTablesOfQuery,
  replies: [{ mediaType: 'application/json', shape: ListTablesReply, description: 'Names in order.' }],
  statuses: [],
  run: async (request: NamespaceRequest, services: Services) => listNames(request, request.namespace, services),
});

/** Names only, without the namespace's. The token of a page is the last name on it. */
export async function listNames(request: RequestFacts, inside: NamespacePath, services: Services): Promise<Reply> {
  const { caller, database, query } = request;
  const limit = readLimit(query, services.limits.http.unpagedNamesMax);
  const token = query['page_token'];
  const children = readableTables(caller, database.name, inside);
  const start = token === undefined || token === '' ? undefined : toPath(inside, token);
  const paths = children === 'all' ? {} : { paths: children.map((name) => toPath(inside, name)) };
  const found = await collectPages<TableRecord>(limit + 1, async (last, wanted) => {
    const after = last?.path ?? start;
    const page = { databaseId: database.id, inside, ...paths, limit: wanted };
    return services.catalog.tables.list(after === undefined ? page : { ...page, after });
  });
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const shown = await leaveOutDeclared(request, page, services);
  const reply: ListTablesReply = {
    tables: shown.map((table) => nameOf(table.path)),
    ...(found.length > limit && last !== undefined ? { page_token: nameOf(last.path) } : {}),
  };
  return { kind: 'object', body: reply };
}

function toPath([first, ...rest]: NamespacePath, name: string): TablePath {
  return first === undefined ? [name] : [first, ...rest, name];
}
