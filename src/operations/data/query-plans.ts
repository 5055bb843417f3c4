import { Type } from 'typebox';
import type { Analysis } from '../../model/query.ts';
import { PlanReply, QueryTableBody, ExplainPlanBody } from '../../wire/data.ts';
import { chooseMediaType } from './media-type.ts';
import type { Reply, ReplyShape, TableRequest } from '../operation.ts';
import { toContractQuery, toContractExplanation } from '../../wire/query-forms.ts';
import { defineTableOperation, json } from '../operation.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../shared/table-state.ts';
import { readPatience, readQuery } from './read-query.ts';
import { ServiceError } from '../../errors/service-error.ts';

export const PLAN_MEDIA_TYPE = 'application/vnd.tiltyard.plan+json';

const OFFERED = ['application/json', 'text/plain', PLAN_MEDIA_TYPE] as const;

export const PLAN_REPLIES: readonly ReplyShape[] = [
  json(Type.String(), 'The plan as a JSON string.'),
  { mediaType: 'text/plain', shape: Type.String(), description: 'The bare text.' },
  { mediaType: PLAN_MEDIA_TYPE, shape: PlanReply, description: 'A tree of steps with typed metrics.' },
];

/** To be asked before the plan is made: a caller who takes none of the forms need not wait for it. */
export function choosePlanMediaType(accept: string | undefined): string {
  return chooseMediaType(accept, OFFERED);
}

export function toPlanReply(mediaType: string, analysis: Analysis): Reply {
  switch (mediaType) {
    case 'text/plain':
      return { kind: 'text', text: analysis.text };
    case PLAN_MEDIA_TYPE:
      return { kind: 'object', mediaType, body: { text: analysis.text, plan: analysis.root } };
    default:
      return { kind: 'value', value: analysis.text };
  }
}

export const analyzePlan = defineTableOperation({
  id: 'analyze_plan',
  path: '/v1/table/:id/analyze_plan',
  summary: 'Run a query and tell what each step of its plan cost',
  permission: 'read',
  body: { kind: 'json', shape: QueryTableBody, normalize: toContractQuery },
  replies: PLAN_REPLIES,
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

export const explainPlan = defineTableOperation({
  id: 'explain_plan',
  path: '/v1/table/:id/explain_plan',
  summary: 'Tell how a query would be run',
  permission: 'read',
  body: { kind: 'json', shape: ExplainPlanBody, normalize: toContractExplanation },
  replies: PLAN_REPLIES,
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
