import { Type } from 'typebox';
import { AnalyzePlanBody, PlanReply } from '../../wire/data.ts';
import { toContractQuery } from '../../wire/query-forms.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { chooseMediaType } from '../media-type.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../table-state.ts';
import { readQuery } from './read-query.ts';

export const PLAN_MEDIA_TYPE = 'application/vnd.tiltyard.plan+json';

export const analyzePlan = defineTableOperation({
  id: 'analyze_plan',
  methods: ['POST'],
  path: '/v1/table/:id/analyze_plan',
  summary: 'Run a query and tell what each step of its plan cost',
  permission: 'read',
  body: { kind: 'json', shape: AnalyzePlanBody, normalize: toContractQuery },
  query: DelimiterQuery,
  replies: [
    { mediaType: 'application/json', shape: Type.String(), description: 'The analysis as a JSON string.' },
    { mediaType: 'text/plain', shape: Type.String(), description: 'The bare text.' },
    { mediaType: PLAN_MEDIA_TYPE, shape: PlanReply, description: 'A tree of steps with typed metrics.' },
  ],
  statuses: [],
  run: analyze,
});

async function analyze(request: TableRequest<AnalyzePlanBody>, services: Services): Promise<Reply> {
  const mediaType = chooseMediaType(request.header('accept'), ['application/json', 'text/plain', PLAN_MEDIA_TYPE]);
  const { body } = request;
  const query = readQuery(body, services.limits);
  const analysis = await services.engine.analyzeQuery(toTableState(request.table, body), query);
  switch (mediaType) {
    case 'text/plain':
      return { kind: 'text', text: analysis.text };
    case PLAN_MEDIA_TYPE:
      return { kind: 'object', mediaType, body: { text: analysis.text, plan: analysis.root } };
    default:
      return { kind: 'value', value: analysis.text };
  }
}
