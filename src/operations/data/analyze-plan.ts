import { QueryTableBody } from '../../wire/data.ts';
import { toContractQuery } from '../../wire/query-forms.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../table-state.ts';
import { PLAN_REPLIES, choosePlanMediaType, toPlanReply } from './plan-reply.ts';
import { readPatience } from './patience.ts';
import { readQuery } from './read-query.ts';

export const analyzePlan = defineTableOperation({
  id: 'analyze_plan',
  methods: ['POST'],
  path: '/v1/table/:id/analyze_plan',
  summary: 'Run a query and tell what each step of its plan cost',
  permission: 'read',
  body: { kind: 'json', shape: QueryTableBody, normalize: toContractQuery },
  query: DelimiterQuery,
  replies: PLAN_REPLIES,
  statuses: [],
  run: analyze,
});

async function analyze(request: TableRequest<QueryTableBody>, services: Services): Promise<Reply> {
  const mediaType = choosePlanMediaType(request.header('accept'));
  const { body } = request;
  const query = readQuery(body, services.limits);
  return toPlanReply(
    mediaType,
    await services.engine.analyzeQuery(toTableState(request.table, body), query, readPatience(request)),
  );
}
