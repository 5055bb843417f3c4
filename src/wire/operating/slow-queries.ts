import { Type } from 'typebox';
import * as Shape from '../shapes.ts';

export const ListSlowQueriesBody = Shape.requestBodyWithoutId({
  page_token: Shape.optionalText(),
  limit: Type.Optional(Type.Integer({ minimum: 1, description: 'Maximum number of queries on the page.' })),
});

const SlowQuery = Type.Object({
  request_id: Type.String(),
  operation: Type.String(),
  table: Type.String({ description: 'Identifier of the table: its names joined by the delimiter.' }),
  caller: Type.String({ description: 'Principal, such as `key:<id>`.' }),
  caller_name: Shape.optionalText('Name of the key or client; absent for other callers.'),
  ended_at: Type.String({ description: 'RFC 3339, UTC.' }),
  duration_ms: Type.Number({ description: 'Time until the first rows were available.' }),
  query: Shape.anyObject('Shape of the query, without vectors or literals.'),
  analysis_state: Type.String({
    description: '`running`, `done`, or `skipped` (there were too many analyses, or this one failed).',
  }),
  analysis: Type.Array(Type.String(), {
    description: 'Steps of the query plan with their cost, from a second run of the query.',
  }),
  plan: Type.Optional(Shape.anyObject('The analysis as a tree, as in analyze_plan.')),
});

export const ListSlowQueriesReply = Shape.replyBody({
  slow_queries: Type.Array(SlowQuery, { description: 'Newest first, since the server started.' }),
  page_token: Shape.optionalText(),
});
export type ListSlowQueriesReply = Type.Static<typeof ListSlowQueriesReply>;
