import { ServiceError } from '../../errors/service-error.ts';
import { ExplainPlanBody } from '../../wire/data.ts';
import { toContractExplanation } from '../../wire/query-forms.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../table-state.ts';
import { PLAN_REPLIES, choosePlanMediaType, toPlanReply } from './plan-reply.ts';
import { readPatience } from './patience.ts';
import { readQuery } from './read-query.ts';

export const explainPlan = defineTableOperation({
  id: 'explain_plan',
  methods: ['POST'],
  path: '/v1/table/:id/explain_plan',
  summary: 'Tell how a query would be run',
  permission: 'read',
  body: { kind: 'json', shape: ExplainPlanBody, normalize: toContractExplanation },
  query: DelimiterQuery,
  replies: PLAN_REPLIES,
  statuses: [],
  run: explain,
});

async function explain(request: TableRequest<ExplainPlanBody>, services: Services): Promise<Reply> {
  const { body, table } = request;
  const mediaType = choosePlanMediaType(request.header('accept'));
  requireSameTable(request);
  const branch = readBranch(body);
  const query = readQuery(body.query, services.limits);
  const state = toTableState(table, { branch, version: body.query.version });
  return toPlanReply(
    mediaType,
    await services.engine.rows.explain(state, query, body.verbose ?? false, readPatience(request)),
  );
}

/** The query is a request of its own, with an identifier and a branch of its own. */
function requireSameTable({ body, table }: TableRequest<ExplainPlanBody>): void {
  const { id } = body.query;
  if (id === undefined || (id.length === table.path.length && id.every((name, at) => name === table.path[at]))) return;
  throw new ServiceError('InvalidInput', 'query.id names another table than the address.', {
    hint: 'Leave query.id out, or give the same path of names.',
  });
}

function readBranch({ branch, query }: ExplainPlanBody): string | undefined {
  if (branch === undefined || query.branch === undefined || branch === query.branch) return branch ?? query.branch;
  throw new ServiceError('InvalidInput', 'branch and query.branch name different branches.', {
    hint: 'Give the branch once.',
  });
}
