import { ServiceError } from '../errors/service-error.ts';
import { requireInteger } from '../guard/numbers.ts';
import { formatPath } from '../model/identifier.ts';
import type { SlowQuery } from '../slow-queries/slow-queries.ts';
import { ListSlowQueriesBody, ListSlowQueriesReply } from '../wire/slow-queries.ts';
import { defineDatabaseOperation, json } from './operation.ts';
import type { DatabaseRequest, Reply } from './operation.ts';
import type { Services } from './services.ts';

export const listSlowQueries = defineDatabaseOperation({
  id: 'list_slow_queries',
  path: '/v1/slow_queries/list',
  summary: 'List the slow queries of a database, newest first, with what their steps cost',
  permission: 'administer',
  body: { kind: 'json', shape: ListSlowQueriesBody },
  replies: [json(ListSlowQueriesReply, 'A page of slow queries.')],
  run: list,
});

async function list(request: DatabaseRequest<ListSlowQueriesBody>, services: Services): Promise<Reply> {
  const { body, database, delimiter } = request;
  const { pageSizeMax } = services.limits.http;
  const limit = requireInteger(body.limit ?? pageSizeMax, { field: 'limit', minimum: 1, maximum: pageSizeMax });
  const kept = services.slowQueries.list(database.id);
  // The token is the last id of the page before; one that was forgotten meanwhile has only older ones behind it.
  const before = readPageToken(body.page_token);
  const rest = kept.filter(({ id }) => id < before);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const reply: ListSlowQueriesReply = {
    slow_queries: page.map((each) => toShown(each, delimiter)),
    ...(rest.length > limit && last !== undefined ? { page_token: String(last.id) } : {}),
  };
  return { kind: 'object', body: reply };
}

function readPageToken(token: string | undefined): number {
  if (token === undefined || token === '') return Infinity;
  if (/^\d{1,15}$/.test(token)) return Number(token);
  throw new ServiceError('InvalidInput', 'The page token is not one of this listing.', {
    hint: 'Give the page_token of the page before.',
  });
}

function toShown(query: SlowQuery, delimiter: string): ListSlowQueriesReply['slow_queries'][number] {
  return {
    request_id: query.requestId,
    operation: query.operation,
    table: formatPath(query.table, delimiter),
    caller: query.caller,
    ended_at: new Date(query.endedAt).toISOString(),
    duration_ms: Math.round(query.milliseconds),
    query: { ...query.shape },
    analysis_state: query.analysisState,
    analysis: [...(query.analysis?.lines ?? [])],
    ...(query.analysis === undefined ? {} : { plan: { ...query.analysis.plan } }),
  };
}
