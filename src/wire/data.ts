import { Type } from 'typebox';
import * as Shape from './shapes.ts';

export const UpdateTableBody = Shape.requestBody({
  updates: Type.Array(Type.Tuple([Type.String(), Type.String()]), {
    description: 'Pairs of field path and SQL expression; the expression sees the values of the row before the update.',
  }),
  predicate: Shape.optionalText('SQL that selects the rows; all rows when absent.'),
  branch: Type.Optional(Shape.Branch),
  properties: Type.Optional(Shape.StringMap),
});
export type UpdateTableBody = Type.Static<typeof UpdateTableBody>;

export const UpdateTableReply = Shape.replyBody({
  updated_rows: Shape.count(),
  rows_updated: Shape.count('The same number, under the name that the LanceDB client reads. It gets this one alone.'),
  version: Shape.Version,
  transaction_id: Shape.optionalText(),
  properties: Type.Union([Shape.StringMap, Type.Null()]),
});
export type UpdateTableReply = Type.Static<typeof UpdateTableReply>;

const NumberArray = Type.Array(Type.Number());
const FieldPathText = Type.String({ minLength: 1 });

const QueryVector = Shape.strictObject(
  { single_vector: Type.Optional(NumberArray), multi_vector: Type.Optional(Type.Array(NumberArray)) },
  { description: 'Exactly one of the two.' },
);

const QueryColumns = Shape.strictObject(
  { column_names: Type.Optional(Type.Array(FieldPathText)), column_aliases: Type.Optional(Shape.StringMap) },
  { description: 'Exactly one of the two.' },
);

const StringQuery = Shape.strictObject({ query: Type.String(), columns: Type.Optional(Type.Array(FieldPathText)) });

/** The tree below `query` is read by `wire/full-text.ts`, which bounds its depth as it goes. */
const StructuredQuery = Shape.strictObject({
  query: Shape.anyObject('One of `match`, `phrase`, `boost`, `multi_match`, `boolean`.'),
});

const FullTextBody = Shape.strictObject(
  { string_query: Type.Optional(StringQuery), structured_query: Type.Optional(StructuredQuery) },
  { description: 'Exactly one of the two.' },
);

const QueryOrder = Shape.strictObject({
  column_name: FieldPathText,
  ascending: Shape.optionalFlag('Smallest first (default) or greatest first.'),
  nulls_first: Shape.optionalFlag('Nulls before or after (default) all values.'),
});

export const QueryTableBody = Shape.requestBody({
  k: Shape.optionalCount('Number of results to return.'),
  vector: Type.Optional(QueryVector),
  branch: Type.Optional(Shape.Branch),
  bypass_vector_index: Shape.optionalFlag('Search every row instead of the vector index.'),
  columns: Type.Optional(QueryColumns),
  distance_type: Shape.optionalText('`l2`, `cosine`, `dot` or `hamming`.'),
  ef: Shape.optionalCount('Search effort for an HNSW index.'),
  fast_search: Shape.optionalFlag('Search only rows that are in the index.'),
  filter: Shape.optionalText('SQL filter expression.'),
  full_text_query: Type.Optional(FullTextBody),
  lower_bound: Type.Optional(Type.Number({ description: 'Least distance of a result.' })),
  upper_bound: Type.Optional(Type.Number({ description: 'Distance that results stay below.' })),
  nprobes: Shape.optionalCount('Number of probes for an IVF index.'),
  minimum_nprobes: Shape.optionalCount('Least number of probes.'),
  maximum_nprobes: Shape.optionalCount('Greatest number of probes; 0 means no maximum.'),
  offset: Shape.optionalCount('Number of results to skip.'),
  order_by: Type.Optional(Type.Array(QueryOrder, { description: 'Field paths to sort by, the first one first.' })),
  prefilter: Shape.optionalFlag('Filter before the vector search (default) or after it.'),
  recall_target: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: 1,
      description:
        'Share of the exact neighbours to find, in place of that of the index; 1 compares every row. Explicit search parameters win.',
    }),
  ),
  refine_factor: Shape.optionalCount('Re-rank this many times `k` results with the exact vectors.'),
  vector_column: Type.Optional(Type.String({ minLength: 1, description: 'Field path of the vector field to search.' })),
  version: Type.Optional(Shape.Version),
  with_row_id: Shape.optionalFlag('Return the row id as a column named `_rowid`.'),
});
export type QueryTableBody = Type.Static<typeof QueryTableBody>;

export const ExplainPlanBody = Shape.requestBody({
  query: QueryTableBody,
  verbose: Shape.optionalFlag('With more detail.'),
  branch: Type.Optional(Shape.Branch),
});
export type ExplainPlanBody = Type.Static<typeof ExplainPlanBody>;

export const CountRowsBody = Shape.requestBody({
  predicate: Shape.optionalText('SQL that selects the rows; all rows when absent.'),
  branch: Type.Optional(Shape.Branch),
  version: Type.Optional(Shape.Version),
});
export type CountRowsBody = Type.Static<typeof CountRowsBody>;

export const RowsReply = Type.Object({
  rows: Type.Array(Shape.anyObject(), { description: 'One object per row, with a member per column.' }),
});

export const PlanReply = Shape.replyBody({
  text: Type.String({ description: 'The whole analysis as text.' }),
  plan: Shape.anyObject('The root step: `operator`, `details`, `metrics`, `children`.'),
});

const flagText = (description: string) => Shape.optionalText(`${description} \`true\` or \`false\`.`);
const UploadId = Type.String({ minLength: 1, description: 'The upload, as `multipart_write/create` named it.' });

export const InsertQuery = Shape.queryParameters({
  mode: Shape.optionalText('`append` (default) or `overwrite`; case and underscore do not matter.'),
  branch: Type.Optional(Shape.Branch),
  upload_id: Type.Optional(UploadId),
  upload_part_id: Type.Optional(
    Type.String({ minLength: 1, description: 'Name of this part of the upload; the same name again replaces it.' }),
  ),
});

export const InsertReply = Shape.replyBody({
  version: Type.Optional(Shape.Version),
  num_inserted_rows: Shape.count('Rows that were added; for a part of an upload, those that wait to be added.'),
  transaction_id: Shape.optionalText(),
});
export type InsertReply = Type.Static<typeof InsertReply>;

export const MergeInsertQuery = Shape.queryParameters({
  on: Type.Array(Type.String(), { description: 'Column that rows are matched on; may be given several times.' }),
  when_matched_update_all: flagText('Update rows that match.'),
  when_matched_update_all_filt: Shape.optionalText(
    'SQL over `target.` and `source.` columns: only matching rows for which it is true.',
  ),
  when_not_matched_insert_all: flagText('Insert rows that match none.'),
  when_not_matched_by_source_delete: flagText('Delete rows of the table that match none that were sent.'),
  when_not_matched_by_source_delete_filt: Shape.optionalText(
    'SQL over the columns of the table: only those rows for which it is true.',
  ),
  timeout: Shape.optionalText('Longest time, such as `30s`, `500ms` or `5m`.'),
  use_index: flagText('Look keys up in an index when there is one.'),
  use_lsm: flagText('Has no effect.'),
  use_rte: flagText('Has no effect.'),
  branch: Type.Optional(Shape.Branch),
});

export const MergeInsertReply = Shape.writeReply({
  num_inserted_rows: Shape.optionalCount('Rows that were new.'),
  num_updated_rows: Shape.optionalCount('Rows of the table that matched.'),
  num_deleted_rows: Shape.optionalCount('Rows of the table that were not sent.'),
  num_attempts: Shape.optionalCount('How often the merge was tried.'),
  num_rows: Shape.optionalCount('Rows that were written.'),
});
export type MergeInsertReply = Type.Static<typeof MergeInsertReply>;

export const DeleteBody = Shape.requestBody({
  predicate: Type.String({ description: 'SQL that selects the rows to delete.' }),
  branch: Type.Optional(Shape.Branch),
});
export type DeleteBody = Type.Static<typeof DeleteBody>;

export const DeleteReply = Shape.writeReply({ num_deleted_rows: Shape.count('Rows that were deleted.') });
export type DeleteReply = Type.Static<typeof DeleteReply>;

export const UploadReply = Shape.replyBody({ upload_id: UploadId });

export const EndUploadQuery = Shape.queryParameters({ branch: Type.Optional(Shape.Branch), upload_id: UploadId });

export const CompleteUploadReply = Shape.writeReply({ num_inserted_rows: Shape.count('Rows of all parts together.') });
