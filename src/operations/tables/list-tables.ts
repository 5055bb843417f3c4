import { requireInteger } from '../../guard/numbers.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { formatPath, parseTablePath, toTablePath } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import { readableScopes } from '../../model/caller.ts';
import { ListTablesQuery, ListTablesReply } from '../../wire/tables.ts';
import { defineDatabaseOperation } from '../operation.ts';
import type { DatabaseRequest, Reply } from '../operation.ts';
import type { Services } from '../services.ts';

export const listTables = defineDatabaseOperation({
  id: 'list_tables',
  methods: ['GET'],
  path: '/v1/tables',
  summary: 'List the tables of the database that the caller may see',
  permission: 'see',
  body: { kind: 'none' },
  query: ListTablesQuery,
  replies: [{ mediaType: 'application/json', shape: ListTablesReply, description: 'Identifiers in order.' }],
  statuses: [],
  run: list,
});

async function list(request: DatabaseRequest, services: Services): Promise<Reply> {
  const limit = readLimit(request, services.limits.http.pageSizeMax);
  const after = readPageToken(request);
  const found = await findReadable(request, services, { after, limit: limit + 1 });
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const reply: ListTablesReply = {
    tables: page.map((path) => formatPath(path, request.delimiter)),
    ...(found.length > limit && last !== undefined ? { page_token: toPageToken(last, request.delimiter) } : {}),
  };
  return { kind: 'object', body: reply };
}

interface Window {
  readonly after: TablePath | undefined;
  readonly limit: number;
}

/** Goes through the caller's scopes in order, so that a caller of one namespace never pays for all the others. */
async function findReadable(request: DatabaseRequest, services: Services, window: Window): Promise<TablePath[]> {
  const found: TablePath[] = [];
  for (const under of readableScopes(request.caller, request.database.name)) {
    if (found.length >= window.limit) break;
    const tables = await services.catalog.tables.list({
      databaseId: request.database.id,
      under,
      limit: window.limit - found.length,
      ...(window.after === undefined ? {} : { after: window.after }),
    });
    found.push(...tables.map((table) => table.path));
  }
  return found;
}

function readLimit(request: DatabaseRequest, maximum: number): number {
  const text = request.query['limit'];
  if (text === undefined) return maximum;
  if (!/^\d{1,15}$/.test(text)) {
    throw new ServiceError('InvalidInput', 'The query parameter limit is not a whole number.', {
      hint: `Give a number from 1 to ${maximum}.`,
    });
  }
  return requireInteger(Number(text), { place: 'limit', minimum: 1, maximum });
}

function readPageToken(request: DatabaseRequest): TablePath | undefined {
  const token = request.query['page_token'];
  if (token === undefined || token === '') return undefined;
  if (!token.startsWith(TOKEN_MARK)) return parseTablePath(token, request.delimiter);
  return toTablePath(token.slice(TOKEN_MARK.length).split(TOKEN_MARK), TOKEN_MARK);
}

/** No name holds it, so that it stands between names without doubt, and in front of none that a caller would write. */
const TOKEN_MARK = '/';

/**
 * The identifier itself, which clients may also make of a name that they know. Where names hold the delimiter of this
 * request, because they were made with another, it would be read back as another path, and the pages never end.
 */
function toPageToken(path: TablePath, delimiter: string): string {
  const token = formatPath(path, delimiter);
  const readBack = token.split(delimiter);
  const isPlain = readBack.length === path.length && readBack.every((name, index) => name === path[index]);
  return isPlain ? token : TOKEN_MARK + path.join(TOKEN_MARK);
}
