import { Type } from 'typebox';
import * as Shape from './shapes.ts';

export const UpdateTableBody = Shape.requestBody({
  updates: Type.Array(Type.Tuple([Type.String(), Type.String()]), {
    description: 'Pairs of field path and SQL expression. Expressions see the values of the row before the update.',
  }),
  predicate: Shape.optionalText('SQL condition that selects the rows; all rows by default.'),
  branch: Type.Optional(Shape.Branch),
  properties: Type.Optional(Shape.StringMap),
});
export type UpdateTableBody = Type.Static<typeof UpdateTableBody>;

export const UpdateTableReply = Shape.replyBody({
  updated_rows: Shape.count(),
  rows_updated: Shape.count(
    'Same as `updated_rows`, under the name that the LanceDB client reads. That client receives only this field.',
  ),
  version: Shape.Version,
  transaction_id: Shape.optionalText(),
  properties: Type.Union([Shape.StringMap, Type.Null()]),
});
export type UpdateTableReply = Type.Static<typeof UpdateTableReply>;

const NumberArray = Type.Array(Type.Number());
const FieldPathText = Type.String({ minLength: 1 });

const QueryVector = Shape.strictObject(
  { single_vector: Type.Optional(NumberArray), multi_vector: Type.Optional(Type.Array(NumberArray)) },
  { description: 'Give exactly one of the two.' },
);

const QueryColumns = Shape.strictObject(
  { column_names: Type.Optional(Type.Array(FieldPathText)), column_aliases: Type.Optional(Shape.StringMap) },
  { description: 'Give exactly one of the two.' },
);

const StringQuery = Shape.strictObject({ query: Type.String(), columns: Type.Optional(Type.Array(FieldPathText)) });

/** `wire/full-text.ts` reads the tree below `query`, and bounds its depth as it goes. */
const StructuredQuery = Shape.strictObject({
  query: Shape.anyObject('One of `match`, `phrase`, `boost`, `multi_match`, `boolean`.'),
});

const FullTextBody = Shape.strictObject(
  { string_query: Type.Optional(StringQuery), structured_query: Type.Optional(StructuredQuery) },
  { description: 'Give exactly one of the two.' },
);

const QueryOrder = Shape.strictObject({
  column_name: FieldPathText,
  ascending: Shape.optionalFlag('Smallest values first (`true`, the default) or largest first.'),
  nulls_first: Shape.optionalFlag('Nulls before all values (`true`) or after them (default).'),
});

export const QueryTableBody = Shape.requestBody({
  k: Shape.optionalCount('Number of results to return.'),
  vector: Type.Optional(QueryVector),
  branch: Type.Optional(Shape.Branch),
  bypass_vector_index: Shape.optionalFlag('Search every row instead of the vector index, by its distance.'),
  columns: Type.Optional(QueryColumns),
  distance_type: Shape.optionalText('`l2`, `cosine`, `dot` or `hamming`.'),
  ef: Shape.optionalCount('Search effort for an HNSW index.'),
  fast_search: Shape.optionalFlag('Search only indexed rows.'),
  filter: Shape.optionalText('SQL filter expression.'),
  full_text_query: Type.Optional(FullTextBody),
  lower_bound: Type.Optional(Type.Number({ description: 'Minimum distance of a result, inclusive.' })),
  upper_bound: Type.Optional(Type.Number({ description: 'Maximum distance of a result, exclusive.' })),
  nprobes: Shape.optionalCount('Number of probes for an IVF index.'),
  minimum_nprobes: Shape.optionalCount('Minimum number of probes.'),
  maximum_nprobes: Shape.optionalCount('Maximum number of probes; 0 means no maximum.'),
  offset: Shape.optionalCount('Number of results to skip. A search that is sorted with `order_by` cannot skip any.'),
  order_by: Type.Optional(
    Type.Array(QueryOrder, {
      description:
        'Field paths to sort by, most significant first. Rows with equal values come in any order, which may differ between requests: for pages, end with a unique column.',
    }),
  ),
  prefilter: Shape.optionalFlag('Filter before the vector search (`true`, the default) or after it.'),
  recall_target: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: 1,
      description:
        'Fraction of the exact nearest neighbours to find, in place of the target of the index; 1 compares every row. Explicit search parameters take precedence.',
    }),
  ),
  refine_factor: Shape.optionalCount('Re-rank this multiple of `k` results with the exact vectors.'),
  vector_column: Type.Optional(Type.String({ minLength: 1, description: 'Field path of the vector field to search.' })),
  vector_text: Shape.optionalText(
    'Text to search for by meaning, in place of `vector`: embedded by the provider of the server, with the model that the vector column records.',
  ),
  version: Type.Optional(Shape.Version),
  with_row_id: Shape.optionalFlag('Return the row id as a column named `_rowid`.'),
});
export type QueryTableBody = Type.Static<typeof QueryTableBody>;

export const ExplainPlanBody = Shape.requestBody({
  query: QueryTableBody,
  verbose: Shape.optionalFlag('Include more detail.'),
  branch: Type.Optional(Shape.Branch),
});
export type ExplainPlanBody = Type.Static<typeof ExplainPlanBody>;

export const CountRowsBody = Shape.requestBody({
  predicate: Shape.optionalText('SQL condition that selects the rows; all rows by default.'),
  branch: Type.Optional(Shape.Branch),
  version: Type.Optional(Shape.Version),
});
export type CountRowsBody = Type.Static<typeof CountRowsBody>;

export const RowsReply = Type.Object({
  rows: Type.Array(Shape.anyObject(), { description: 'One object per row, with one member per column.' }),
});

export const PlanReply = Shape.replyBody({
  text: Type.String({ description: 'The whole analysis as text.' }),
  plan: Shape.anyObject('The root step: `operator`, `details`, `metrics`, `children`.'),
});

const flagText = (description: string) => Shape.optionalText(`${description} \`true\` or \`false\`.`);
const UploadId = Type.String({
  minLength: 1,
  description: 'Id of the upload, as returned by `multipart_write/create`.',
});

export const InsertQuery = Shape.queryParameters({
  mode: Shape.optionalText('`append` (default) or `overwrite`; case and underscores are ignored.'),
  branch: Type.Optional(Shape.Branch),
  upload_id: Type.Optional(UploadId),
  upload_part_id: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Name of this part of the upload. Sending a part with the same name again replaces it.',
    }),
  ),
});

export const InsertReply = Shape.replyBody({
  version: Type.Optional(Shape.Version),
  num_inserted_rows: Shape.count('Rows inserted; for a part of an upload, rows staged until the upload completes.'),
  transaction_id: Shape.optionalText(),
});
export type InsertReply = Type.Static<typeof InsertReply>;

export const MergeInsertQuery = Shape.queryParameters({
  on: Type.Array(Type.String(), { description: 'Column to match rows on; may be repeated.' }),
  when_matched_update_all: flagText('Update rows that match.'),
  when_matched_update_all_filt: Shape.optionalText(
    'SQL condition over `target.` and `source.` columns; only matching rows for which it is true are updated.',
  ),
  when_not_matched_insert_all: flagText('Insert rows that match no row of the table.'),
  when_not_matched_by_source_delete: flagText('Delete rows of the table that match no row in the request.'),
  when_not_matched_by_source_delete_filt: Shape.optionalText(
    'SQL condition over the columns of the table; only rows for which it is true are deleted.',
  ),
  timeout: Shape.optionalText('Timeout, such as `30s`, `500ms` or `5m`.'),
  use_index: flagText('Look up keys in an index, if there is one.'),
  use_lsm: flagText('Has no effect.'),
  use_rte: flagText('Has no effect.'),
  branch: Type.Optional(Shape.Branch),
});

export const MergeInsertReply = Shape.writeReply({
  num_inserted_rows: Shape.optionalCount('Rows inserted.'),
  num_updated_rows: Shape.optionalCount('Matching rows of the table that were updated.'),
  num_deleted_rows: Shape.optionalCount(
    'Rows of the table that were deleted because they match no row in the request.',
  ),
  num_attempts: Shape.optionalCount('Number of times the merge was attempted.'),
  num_rows: Shape.optionalCount('Rows written.'),
});
export type MergeInsertReply = Type.Static<typeof MergeInsertReply>;

export const DeleteBody = Shape.requestBody({
  predicate: Type.String({ description: 'SQL condition that selects the rows to delete.' }),
  branch: Type.Optional(Shape.Branch),
});
export type DeleteBody = Type.Static<typeof DeleteBody>;

export const DeleteReply = Shape.writeReply({ num_deleted_rows: Shape.count('Rows deleted.') });
export type DeleteReply = Type.Static<typeof DeleteReply>;

export const UploadReply = Shape.replyBody({ upload_id: UploadId });

export const EndUploadQuery = Shape.queryParameters({ branch: Type.Optional(Shape.Branch), upload_id: UploadId });

export const CompleteUploadReply = Shape.writeReply({ num_inserted_rows: Shape.count('Total rows of all parts.') });
export type CompleteUploadReply = Type.Static<typeof CompleteUploadReply>;
