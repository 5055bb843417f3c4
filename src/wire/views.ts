import { Type } from 'typebox';
import * as Shape from './shapes.ts';

const IGNORED = 'Accepted and ignored: the service chooses it.';

export const CreateViewBody = Shape.requestBody({
  kind: Type.String({ description: '`query`. `udtf` and `chunker`, which run code, are not offered.' }),
  source_query: Type.String({
    description:
      '`SELECT id, price * 2 AS twice FROM items WHERE price > 1 LIMIT 100`, or the same as JSON: `{"table": "items", "filter": "price > 1", "columns": {"id": "id", "twice": "price * 2"}, "limit": 100}`.',
  }),
  output_schema: Shape.optionalAny('Accepted and ignored: the columns follow from the query.'),
  udtf_spec: Shape.optionalAny('Not offered: it would run code.'),
  with_no_data: Type.Optional(
    Type.Union([Type.Boolean(), Type.Null()], { description: 'False: a first refresh begins at once.' }),
  ),
  auto_refresh: Type.Optional(
    Type.Union([Type.Boolean(), Type.Null()], { description: 'Refresh it when its source has changed.' }),
  ),
  refresh_seconds: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
      description: 'Refresh it so often, if anything changed.',
    }),
  ),
});
export type CreateViewBody = Type.Static<typeof CreateViewBody>;

export const CreateViewReply = Shape.replyBody({
  version: Shape.Version,
  job_id: Shape.optionalText('Of the first refresh.'),
  transaction_id: Shape.optionalText(),
});

export const RefreshViewBody = Shape.requestBody({
  src_version: Type.Optional(
    Type.Union([Shape.Version, Type.Null()], { description: 'Of the source; the latest when absent.' }),
  ),
  output_limit: Shape.optionalAny('Not for views of this kind.'),
  max_rows_per_fragment: Shape.optionalAny(IGNORED),
  concurrency: Shape.optionalAny(IGNORED),
  intra_applier_concurrency: Shape.optionalAny(IGNORED),
  source_task_size: Shape.optionalAny(IGNORED),
  cluster: Shape.optionalAny(IGNORED),
  manifest: Shape.optionalAny(IGNORED),
});

const View = {
  table: Type.String({ description: 'Identifier of the view, joined by the delimiter.' }),
  source: Type.String({ description: 'Identifier of the table that it is made from.' }),
  refresh: Type.String({ description: '`manual`, `on_change` or `schedule`.' }),
  refresh_seconds: Type.Optional(Type.Integer()),
  source_version: Type.Optional(Type.Integer({ description: 'That it was last refreshed from; absent: never.' })),
  refreshed_at_millis: Type.Optional(Type.Integer()),
  last_refresh: Type.Optional(Type.String({ description: '`rebuilt` or `appended`.' })),
};

export const DescribeViewReply = Shape.replyBody({
  ...View,
  filter: Type.Optional(Type.String()),
  columns: Shape.mapOf(Type.String(), 'SQL of each column.'),
  limit: Type.Optional(Type.Integer()),
  source_latest_version: Type.Optional(Type.Integer({ description: 'Absent when the source was dropped.' })),
});
export type DescribeViewReply = Type.Static<typeof DescribeViewReply>;

export const ListViewsQuery = Shape.queryParameters(Shape.pageParameters);

export const ListViewsReply = Shape.replyBody({
  views: Type.Array(Type.Object(View)),
  page_token: Shape.NextPageToken,
});
export type ListViewsReply = Type.Static<typeof ListViewsReply>;
