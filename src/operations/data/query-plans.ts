import { Type } from 'typebox';
import { invalidInput } from '../../errors/service-error.ts';
import type { Analysis, Query } from '../../model/query.ts';
import type { TableRecord, TableState } from '../../model/table.ts';
import { ExplainPlanBody, PlanReply, QueryTableBody } from '../../wire/data.ts';
import { toContractExplanation, toContractQuery } from '../../wire/query-forms.ts';
import { defineTableOperation, json } from '../operation.ts';
import type { Reply, ReplyShape, TableRequest } from '../operation.ts';
import { embedQuery } from '../embeddings/embed-query.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../shared/table-state.ts';
import { chooseMediaType } from './media-type.ts';
import { readQuery, readQueryTimeout } from './read-query.ts';
import { tuneQuery } from './tuned-query.ts';

const PLAN_MEDIA_TYPE = 'application/vnd.tiltyard.plan+json';

const OFFERED = ['application/json', 'text/plain', PLAN_MEDIA_TYPE] as const;

const PLAN_REPLIES: readonly ReplyShape[] = [
  json(Type.String(), 'The plan as a JSON string.'),
  { mediaType: 'text/plain', shape: Type.String(), description: 'The plan as plain text.' },
  { mediaType: PLAN_MEDIA_TYPE, shape: PlanReply, description: 'A tree of steps with typed metrics.' },
];

export const explainPlan = defineTableOperation({
  id: 'explain_plan',
  path: '/v1/table/:id/explain_plan',
  summary: 'Explain the plan of a query',
  permission: 'read',
  body: { kind: 'json', shape: ExplainPlanBody, normalize: toContractExplanation },
  replies: PLAN_REPLIES,
  async run(request, services) {
    const { body, table } = request;
    const mediaType = chooseMediaType(request.header('accept'), OFFERED);
    requireSameTable(request);
    const branch = readBranch(body);
    const state = toTableState(table, { branch, version: body.query.version });
    const timeout = readQueryTimeout(request);
    const query = await chooseQuery({ table, state, body: body.query, timeout }, services);
    const { rows } = services.engine;
    const analysis = await rows.explain(state, query, body.verbose ?? false, timeout);
    return toPlanReply(mediaType, analysis);
  },
});

export const analyzePlan = defineTableOperation({
  id: 'analyze_plan',
  path: '/v1/table/:id/analyze_plan',
  summary: 'Run a query and measure each step of its plan',
  permission: 'read',
  body: { kind: 'json', shape: QueryTableBody, normalize: toContractQuery },
  replies: PLAN_REPLIES,
  async run(request, services) {
    const { body, table } = request;
    const mediaType = chooseMediaType(request.header('accept'), OFFERED);
    const state = toTableState(table, body);
    const timeout = readQueryTimeout(request);
    const query = await chooseQuery({ table, state, body, timeout }, services);
    return toPlanReply(mediaType, await services.engine.analyzeQuery(state, query, timeout));
  },
});

interface Planned {
  readonly table: TableRecord;
  readonly state: TableState;
  readonly body: QueryTableBody;
  readonly timeout: ReturnType<typeof readQueryTimeout>;
}

/** The query that `query_table` executes for the same body. */
async function chooseQuery({ table, state, body, timeout }: Planned, services: Services): Promise<Query> {
  const { vector_text: text } = body;
  const read = readQuery(body, services.limits);
  const query = text === undefined ? read : await embedQuery({ text, state, query: read, timeout }, services);
  return tuneQuery({ table, state, query, timeout }, services);
}

/** The query inside an explain request has its own identifier and branch, which must match the outer ones. */
function requireSameTable({ body, table }: TableRequest<ExplainPlanBody>): void {
  const { id } = body.query;
  if (id === undefined || (id.length === table.path.length && id.every((name, at) => name === table.path[at]))) return;
  const hint = 'Omit query.id, or make it equal to the identifier in the URL.';
  throw invalidInput('query.id and the URL identify different tables.', hint);
}

function readBranch({ branch, query }: ExplainPlanBody): string | undefined {
  if (branch === undefined || query.branch === undefined || branch === query.branch) return branch ?? query.branch;
  throw invalidInput('branch and query.branch differ.', 'Give the branch once.');
}

function toPlanReply(mediaType: string, analysis: Analysis): Reply {
  const { text } = analysis;
  switch (mediaType) {
    case 'text/plain':
      return { kind: 'text', text };
    case PLAN_MEDIA_TYPE:
      return { kind: 'object', mediaType, body: { text, plan: analysis.root } };
    default:
      return { kind: 'value', value: text };
  }
}
