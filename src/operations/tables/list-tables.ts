import { readableScopes, readableTables } from '../../model/access.ts';
import {
  NO_DELIMITER,
  belowPrefix,
  checkName,
  formatPath,
  nameOf,
  parseTablePath,
  toTablePath,
} from '../../model/identifier.ts';
import type { NamespacePath, TablePath } from '../../model/identifier.ts';
import type { TableSummary } from '../../model/table.ts';
import { ListTablesOfQuery, ListTablesQuery, ListTablesReply } from '../../wire/tables.ts';
import { defineDatabaseOperation, defineNamespaceOperation, json, objectReply, toShownPath } from '../operation.ts';
import type { DatabaseRequest, Reply, RequestFacts } from '../operation.ts';
import type { Services } from '../services.ts';
import { collectPages, cutPage, readLimit, readNameToken } from '../shared/pages.ts';
import { filterDeclared } from './declared-tables.ts';

export const listTables = defineDatabaseOperation({
  id: 'list_tables',
  methods: ['GET'],
  path: '/v1/tables',
  summary: 'List the tables of the database',
  permission: 'see',
  query: ListTablesQuery,
  replies: [json(ListTablesReply, 'Table identifiers, in order.')],
  run: listIdentifiers,
});

export const listAllTables = defineDatabaseOperation({
  ...listTables,
  id: 'list_all_tables',
  path: '/v1/table',
  summary: 'List the tables of all namespaces; the LanceDB client gets the names of those in the root namespace',
  body: { kind: 'none' },
  query: ListTablesOfQuery,
  // The LanceDB client treats every name as that of a table in the root.
  run: async (request: DatabaseRequest, services: Services) =>
    request.dialect === 'lancedb' ? listNames(request, request.prefix, services) : listIdentifiers(request, services),
});

export const listTablesOfNamespace = defineNamespaceOperation({
  id: 'list_tables_of_namespace',
  methods: ['GET'],
  path: '/v1/namespace/:id/table/list',
  summary: 'List the tables of a namespace',
  permission: 'see',
  query: ListTablesOfQuery,
  replies: [json(ListTablesReply, 'Table names, in order.')],
  run: async (request, services) => listNames(request, request.namespace, services),
});

async function listIdentifiers(request: DatabaseRequest, services: Services): Promise<Reply> {
  const limit = readLimit(request.query, services.limits.http.pageSizeMax);
  const found = await findReadable(request, services, { after: readPageToken(request), limit: limit + 1 });
  const { entries, page_token } = cutPage(found, limit, ({ path }) =>
    toPageToken(toShownPath(request, path), request.delimiter),
  );
  const shown = await filterDeclared(request, entries, services);
  const tables = shown.map(({ path }) => formatPath(toShownPath(request, path), request.delimiter));
  return objectReply<typeof ListTablesReply>({ tables, page_token });
}

/** Reads only the scopes of the caller's grants, so that a caller of one namespace never waits for the others. */
async function findReadable(
  { caller, database, prefix }: DatabaseRequest,
  services: Services,
  { after, limit }: { readonly after: TablePath | undefined; readonly limit: number },
): Promise<readonly TableSummary[]> {
  const found: TableSummary[] = [];
  for (const under of readableScopes(caller, database.name, prefix)) {
    if (found.length >= limit) break;
    const page = { databaseId: database.id, under, after, limit: limit - found.length };
    found.push(...(await services.catalog.tables.list(page)));
  }
  return found;
}

/** Always after the prefix itself: a table with the name of the namespace is not inside it. */
function readPageToken({ query, prefix, delimiter }: DatabaseRequest): TablePath | undefined {
  const token = query['page_token'];
  const isAbsent = token === undefined || token === '';
  const [first, ...rest] = [...prefix, ...(isAbsent ? [] : readToken(token, delimiter))];
  return first === undefined ? undefined : [first, ...rest];
}

function readToken(token: string, delimiter: string): TablePath {
  if (!token.startsWith(TOKEN_MARK)) return parseTablePath(token, delimiter);
  return toTablePath(token.slice(TOKEN_MARK.length).split(TOKEN_MARK), TOKEN_MARK);
}

/** No name contains it, and no caller's identifier starts with it. */
const TOKEN_MARK = '/';

/**
 * The identifier, unless a name contains this request's delimiter: it would be read back as another path, and paging
 * would never end.
 */
function toPageToken(path: NamespacePath, delimiter: string): string {
  const token = formatPath(path, delimiter);
  const readBack = token.split(delimiter);
  const isPlain = readBack.length === path.length && readBack.every((name, index) => name === path[index]);
  return isPlain ? token : TOKEN_MARK + path.join(TOKEN_MARK);
}

/** The names of tables, without their namespace. The token of a page is its last name. */
async function listNames(request: RequestFacts, inside: NamespacePath, services: Services): Promise<Reply> {
  const { caller, database, query } = request;
  const limit = readLimit(query, services.limits.http.unpagedNamesMax);
  const token = readNameToken(query['page_token'], (name) => checkName(name, NO_DELIMITER));
  const children = readableTables(caller, database.name, inside);
  const start = token === undefined ? undefined : belowPrefix(inside, [token]);
  const paths = children === 'all' ? undefined : children.map((name) => belowPrefix(inside, [name]));
  const page = { databaseId: database.id, inside, paths };
  const found = await collectPages<TableSummary>(limit + 1, async (last, wanted) =>
    services.catalog.tables.list({ ...page, after: last?.path ?? start, limit: wanted }),
  );
  const { entries, page_token } = cutPage(found, limit, ({ path }) => nameOf(path));
  const shown = await filterDeclared(request, entries, services);
  return objectReply<typeof ListTablesReply>({ tables: shown.map(({ path }) => nameOf(path)), page_token });
}
