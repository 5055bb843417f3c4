import { Type } from 'typebox';
import * as Shape from './shapes.ts';

const IGNORED = 'Accepted but ignored: the server chooses this.';

export const CreateViewBody = Shape.requestBody({
  kind: Type.String({ description: 'Must be `query`. `udtf` and `chunker`, which run code, are not offered.' }),
  source_query: Type.String({
    description:
      '`SELECT id, price * 2 AS twice FROM items WHERE price > 1 LIMIT 100`, or the same as JSON: `{"table": "items", "filter": "price > 1", "columns": {"id": "id", "twice": "price * 2"}, "limit": 100}`.',
  }),
  output_schema: Shape.optionalAny('Accepted but ignored: the query determines the columns.'),
  udtf_spec: Shape.optionalAny('Not offered: it would run code.'),
  with_no_data: Type.Optional(
    Type.Union([Type.Boolean(), Type.Null()], { description: '`false` starts the first refresh immediately.' }),
  ),
  auto_refresh: Type.Optional(
    Type.Union([Type.Boolean(), Type.Null()], { description: 'Refresh the view when its source changes.' }),
  ),
  refresh_seconds: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
      description: 'Interval in seconds at which the view is refreshed if its source has changed.',
    }),
  ),
});
export type CreateViewBody = Type.Static<typeof CreateViewBody>;

export const CreateViewReply = Shape.replyBody({
  version: Shape.Version,
  job_id: Shape.optionalText('Id of the job of the first refresh.'),
  transaction_id: Shape.optionalText(),
});

export const RefreshViewBody = Shape.requestBody({
  src_version: Type.Optional(
    Type.Union([Shape.Version, Type.Null()], { description: 'Version of the source; the latest by default.' }),
  ),
  full: Shape.optionalFlag('Rebuild the view completely, regardless of what changed.'),
  expected_incarnation: Shape.optionalText('The request is refused unless this is the `incarnation` of the view.'),
  output_limit: Shape.optionalAny('Not offered for this kind of view.'),
  max_rows_per_fragment: Shape.optionalAny(IGNORED),
  concurrency: Shape.optionalAny(IGNORED),
  intra_applier_concurrency: Shape.optionalAny(IGNORED),
  source_task_size: Shape.optionalAny(IGNORED),
  cluster: Shape.optionalAny(IGNORED),
  manifest: Shape.optionalAny(IGNORED),
});

const View = {
  id: Type.Array(Type.String(), { description: 'Path of the view.' }),
  table: Type.String({ description: 'Identifier of the view: its names joined by the delimiter.' }),
  source: Type.String({
    description:
      'Identifier of the source table; the one that it had when the view was created, if it was dropped or the caller may not read it.',
  }),
  source_table: Type.String({ description: 'The name of the source, without its namespace.' }),
  source_namespace: Type.Array(Type.String()),
  source_dropped: Type.Optional(
    Type.Boolean({
      description:
        '`true` when the source was dropped, and the view can no longer be refreshed; a table that was created later under its name is another one.',
    }),
  ),
  refresh: Type.String({ description: '`manual`, `on_change` or `schedule`.' }),
  refresh_seconds: Type.Optional(Type.Integer()),
  source_version: Type.Optional(
    Type.Integer({ description: 'Source version of the last refresh; absent before the first one.' }),
  ),
  refreshed_at_millis: Type.Optional(Type.Integer()),
  last_refresh: Type.Optional(Type.String({ description: '`rebuilt` or `appended`.' })),
};

export const DescribeViewReply = Shape.replyBody({
  ...View,
  filter: Type.Optional(Type.String()),
  columns: Shape.mapOf(Type.String(), 'SQL expression of each column.'),
  limit: Type.Optional(Type.Integer()),
  source_latest_version: Type.Optional(
    Type.Integer({
      description: 'Latest version of the source; absent if the source was dropped, or the caller may not read it.',
    }),
  ),
  projections: Type.Array(Type.Object({ output_column: Type.String(), expression: Type.String() }), {
    description: 'The columns, in order.',
  }),
  incarnation: Type.String({ description: 'Changes when the view is dropped and created again.' }),
});
export type DescribeViewReply = Type.Static<typeof DescribeViewReply>;

export const ListViewsQuery = Shape.queryParameters(Shape.pageParameters);

export const ListViewsReply = Shape.replyBody({
  views: Type.Array(Type.Object(View)),
  page_token: Shape.NextPageToken,
});
export type ListViewsReply = Type.Static<typeof ListViewsReply>;
