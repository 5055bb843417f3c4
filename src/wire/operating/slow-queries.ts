import { Type } from 'typebox';
import * as Shape from '../shapes.ts';

export const ListSlowQueriesBody = Shape.requestBodyWithoutId({
  page_token: Shape.optionalText(),
  limit: Type.Optional(Type.Integer({ minimum: 1, description: 'Most queries on the page.' })),
});

const SlowQuery = Type.Object({
  request_id: Type.String(),
  operation: Type.String(),
  table: Type.String({ description: 'Identifier of the table, joined by the delimiter.' }),
  caller: Type.String(),
  ended_at: Type.String({ description: 'RFC 3339, UTC.' }),
  duration_ms: Type.Number({ description: 'Until the first rows were at hand.' }),
  query: Shape.anyObject('How it searched; no vectors, no literals.'),
  analysis_state: Type.String({ description: '`running`, `done`, or `skipped`: there were too many, or it failed.' }),
  analysis: Type.Array(Type.String(), { description: 'The steps of the same query run again, and what they cost.' }),
  plan: Type.Optional(Shape.anyObject('The same as a tree, like that of analyze_plan.')),
});

export const ListSlowQueriesReply = Shape.replyBody({
  slow_queries: Type.Array(SlowQuery, { description: 'Newest first, since the service started.' }),
  page_token: Shape.optionalText(),
});
export type ListSlowQueriesReply = Type.Static<typeof ListSlowQueriesReply>;
