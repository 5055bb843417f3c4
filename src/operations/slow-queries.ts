import { formatPath } from '../model/identifier.ts';
import type { SlowQuery } from '../slow-queries/slow-queries.ts';
import type { Sent } from '../wire/shapes.ts';
import { ListSlowQueriesBody, ListSlowQueriesReply } from '../wire/operating/slow-queries.ts';
import { defineDatabaseOperation, json, objectReply } from './operation.ts';
import { cutPage, readPageSize, unknownPageToken } from './shared/pages.ts';

export const listSlowQueries = defineDatabaseOperation({
  id: 'list_slow_queries',
  path: '/v1/slow_queries/list',
  summary: 'List slow queries, newest first, with the cost of each step',
  permission: 'administer',
  body: { kind: 'json', shape: ListSlowQueriesBody },
  replies: [json(ListSlowQueriesReply, 'A page of slow queries.')],
  async run({ body, database, delimiter }, services) {
    const limit = readPageSize(body.limit, services);
    // The token is the last id of the previous page. Ids grow, so it stays valid if that query is removed.
    const before = readPageToken(body.page_token);
    const rest = services.slowQueries.list(database.id).filter(({ id }) => id < before);
    const { entries, page_token } = cutPage(rest, limit, ({ id }) => String(id));
    const callers = entries.map(({ caller }) => caller);
    const names = await services.catalog.callerNames(callers);
    const slow_queries = entries.map((each) => ({ ...toShape(each, delimiter), caller_name: names.get(each.caller) }));
    return objectReply<typeof ListSlowQueriesReply>({ slow_queries, page_token });
  },
});

function readPageToken(token: string | undefined): number {
  if (token === undefined || token === '') return Infinity;
  if (/^\d{1,15}$/.test(token)) return Number(token);
  throw unknownPageToken();
}

function toShape(query: SlowQuery, delimiter: string): Sent<ListSlowQueriesReply['slow_queries'][number]> {
  return {
    request_id: query.requestId,
    operation: query.operation,
    table: formatPath(query.table, delimiter),
    caller: query.caller,
    ended_at: new Date(query.endedAt).toISOString(),
    duration_ms: Math.round(query.milliseconds),
    query: query.shape,
    analysis_state: query.analysisState,
    analysis: query.analysis?.lines ?? [],
    plan: query.analysis?.plan,
  };
}
