import { readableScopes, readableTables } from '../../model/access.ts';
import { formatPath, parseTablePath, toTablePath, nameOf } from '../../model/identifier.ts';
import type { NamespacePath, TablePath } from '../../model/identifier.ts';
import type { TableRecord } from '../../model/table.ts';
import { ListTablesOfQuery, ListTablesQuery, ListTablesReply } from '../../wire/tables.ts';
import { defineDatabaseOperation, defineNamespaceOperation, json } from '../operation.ts';
import type { DatabaseRequest, Reply, NamespaceRequest, RequestFacts } from '../operation.ts';
import { readLimit, collectPages } from '../shared/pages.ts';
import type { Services } from '../services.ts';
import { toShownPath } from '../shared/shown-path.ts';
import { leaveOutDeclared } from './declared-tables.ts';

const REPLIES = [json(ListTablesReply, 'Identifiers in order.')];

export const listTables = defineDatabaseOperation({
  id: 'list_tables',
  methods: ['GET'],
  path: '/v1/tables',
  summary: 'List the tables of the database that the caller may see',
  permission: 'see',
  body: { kind: 'none' },
  query: ListTablesQuery,
  replies: REPLIES,
  run: list,
});

export const listAllTables = defineDatabaseOperation({
  ...listTables,
  id: 'list_all_tables',
  path: '/v1/table',
  summary: 'List the tables of all namespaces; to the LanceDB client, the names of those in the root',
  body: { kind: 'none' },
  query: ListTablesOfQuery,
  // The LanceDB client makes an open table of every name, as if it stood in the root.
  run: async (request: DatabaseRequest, services: Services) =>
    request.dialect === 'lancedb' ? listNames(request, request.prefix, services) : list(request, services),
});

async function list(request: DatabaseRequest, services: Services): Promise<Reply> {
  const limit = readLimit(request.query, services.limits.http.pageSizeMax);
  const after = readPageToken(request);
  const found = await findReadable(request, services, { after, limit: limit + 1 });
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const shown = await leaveOutDeclared(request, page, services);
  const reply: ListTablesReply = {
    tables: shown.map((table) => formatPath(toShownPath(request, table.path), request.delimiter)),
    ...(found.length > limit && last !== undefined
      ? { page_token: toPageToken(toShownPath(request, last.path), request.delimiter) }
      : {}),
  };
  return { kind: 'object', body: reply };
}

interface Window {
  readonly after: TablePath | undefined;
  readonly limit: number;
}

/** Goes through the caller's scopes in order, so that a caller of one namespace never pays for all the others. */
async function findReadable(request: DatabaseRequest, services: Services, window: Window): Promise<TableRecord[]> {
  const { caller, database, prefix } = request;
  const found: TableRecord[] = [];
  for (const under of readableScopes(caller, database.name, prefix)) {
    if (found.length >= window.limit) break;
    const tables = await services.catalog.tables.list({
      databaseId: database.id,
      under,
      limit: window.limit - found.length,
      ...(window.after === undefined ? {} : { after: window.after }),
    });
    found.push(...tables);
  }
  return found;
}

/** Behind the prefix in any case: a table of the same name as the namespace is not inside it. */
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

/** No name holds it, so that it stands between names without doubt, and in front of none that a caller would write. */
const TOKEN_MARK = '/';

/**
 * The identifier itself, which clients may also make of a name that they know. Where names hold the delimiter of this
 * request, because they were made with another, it would be read back as another path, and the pages never end.
 */
function toPageToken(path: NamespacePath, delimiter: string): string {
  const token = formatPath(path, delimiter);
  const readBack = token.split(delimiter);
  const isPlain = readBack.length === path.length && readBack.every((name, index) => name === path[index]);
  return isPlain ? token : TOKEN_MARK + path.join(TOKEN_MARK);
}

export const listTablesOfNamespace = defineNamespaceOperation({
  id: 'list_tables_of_namespace',
  methods: ['GET'],
  path: '/v1/namespace/:id/table/list',
  summary: 'List the tables directly in a namespace that the caller may see',
  permission: 'see',
  body: { kind: 'none' },
  query: ListTablesOfQuery,
  replies: [json(ListTablesReply, 'Names in order.')],
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
