import { ServiceError } from '../../errors/service-error.ts';
import type { TableVersion } from '../../engine/engine.ts';
import { ListVersionsBody, ListVersionsQuery, ListVersionsReply } from '../../wire/versions.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import { cutPage, limitWithNext, readPage } from '../page.ts';
import type { Page } from '../page.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../table-state.ts';
import { toMeasuredShape, toVersionShape } from './version-shape.ts';

export const listVersions = defineTableOperation({
  id: 'list_table_versions',
  methods: ['POST', 'GET'],
  path: '/v1/table/:id/version/list',
  summary: 'List the versions of a table',
  permission: 'read',
  body: { kind: 'json', shape: ListVersionsBody },
  query: ListVersionsQuery,
  replies: [{ mediaType: 'application/json', shape: ListVersionsReply, description: 'The versions.' }],
  statuses: [],
  run: list,
});

async function list(request: TableRequest<ListVersionsBody>, services: Services): Promise<Reply> {
  const { table, query, body } = request;
  const page = readPage(request, body, services);
  const state = toTableState(table, { branch: query['branch'] ?? body.branch });
  const isDescending = readDescending(query['descending']) ?? body.descending ?? false;
  const all = await services.engine.versions.list(state);
  const { entries, token } = cutPage(selectAfter(all, page, isDescending), page, ({ version }) => String(version));
  // A file is looked at for each size, and the LanceDB client, which asks for all versions at once, does not read it.
  const versions =
    request.dialect === 'lancedb'
      ? entries.map(toVersionShape)
      : await Promise.all(entries.map(async (version) => toMeasuredShape(table.location, version, services)));
  const reply: ListVersionsReply = { versions, ...token };
  return { kind: 'object', body: reply };
}

function selectAfter(versions: readonly TableVersion[], page: Page, isDescending: boolean): readonly TableVersion[] {
  const after = readToken(page.after);
  const ordered = isDescending ? versions.toReversed() : versions;
  const isLater = ({ version }: TableVersion): boolean =>
    after === undefined || (isDescending ? version < after : version > after);
  return ordered.filter(isLater).slice(0, limitWithNext(page));
}

function readToken(token: string | undefined): number | undefined {
  if (token === undefined) return undefined;
  if (/^\d{1,15}$/.test(token)) return Number(token);
  throw new ServiceError('InvalidInput', 'The page_token is none that this listing gave.');
}

function readDescending(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (text === 'true' || text === 'false') return text === 'true';
  throw new ServiceError('InvalidInput', 'The query parameter descending is neither true nor false.');
}
