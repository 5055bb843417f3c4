import { Type } from 'typebox';
import {
  Branch,
  strictObject,
  anyObject,
  StringMap,
  Version,
  optionalCount,
  optionalFlag,
  optionalText,
  queryParameters,
  replyBody,
  requestBody,
} from './shapes.ts';

export const UpdateTableBody = requestBody({
  updates: Type.Array(Type.Tuple([Type.String(), Type.String()]), {
    description: 'Pairs of field path and SQL expression; the expression sees the values of the row before the update.',
  }),
  predicate: optionalText('SQL that selects the rows; all rows when absent.'),
  branch: Type.Optional(Branch),
  properties: Type.Optional(StringMap),
});
export type UpdateTableBody = Type.Static<typeof UpdateTableBody>;

export const UpdateTableReply = replyBody({
  updated_rows: Type.Integer({ minimum: 0 }),
  rows_updated: Type.Integer({
    minimum: 0,
    description: 'The same number, under the name that the LanceDB client reads.',
  }),
  version: Version,
  transaction_id: optionalText(),
  properties: Type.Union([StringMap, Type.Null()]),
});
export type UpdateTableReply = Type.Static<typeof UpdateTableReply>;

const NumberArray = Type.Array(Type.Number());
const FieldPathText = Type.String({ minLength: 1 });

const QueryVector = strictObject(
  { single_vector: Type.Optional(NumberArray), multi_vector: Type.Optional(Type.Array(NumberArray)) },
  { description: 'Exactly one of the two.' },
);

const QueryColumns = strictObject(
  { column_names: Type.Optional(Type.Array(FieldPathText)), column_aliases: Type.Optional(StringMap) },
  { description: 'Exactly one of the two.' },
);

const StringQuery = strictObject({ query: Type.String(), columns: Type.Optional(Type.Array(FieldPathText)) });

/** The tree below `query` is read by `wire/full-text.ts`, which bounds its depth as it goes. */
const StructuredQuery = strictObject({
  query: anyObject('One of `match`, `phrase`, `boost`, `multi_match`, `boolean`.'),
});

const FullTextBody = strictObject(
  { string_query: Type.Optional(StringQuery), structured_query: Type.Optional(StructuredQuery) },
  { description: 'Exactly one of the two.' },
);

const QueryOrder = strictObject({
  column_name: FieldPathText,
  ascending: optionalFlag('Smallest first (default) or greatest first.'),
  nulls_first: optionalFlag('Nulls before or after (default) all values.'),
});

export const QueryTableBody = requestBody({
  k: optionalCount('Number of results to return.'),
  vector: Type.Optional(QueryVector),
  branch: Type.Optional(Branch),
  bypass_vector_index: optionalFlag('Search every row instead of the vector index.'),
  columns: Type.Optional(QueryColumns),
  distance_type: optionalText('`l2`, `cosine`, `dot` or `hamming`.'),
  ef: optionalCount('Search effort for an HNSW index.'),
  fast_search: optionalFlag('Search only rows that are in the index.'),
  filter: optionalText('SQL filter expression.'),
  full_text_query: Type.Optional(FullTextBody),
  lower_bound: Type.Optional(Type.Number({ description: 'Least distance of a result.' })),
  upper_bound: Type.Optional(Type.Number({ description: 'Distance that results stay below.' })),
  nprobes: optionalCount('Number of probes for an IVF index.'),
  minimum_nprobes: optionalCount('Least number of probes.'),
  maximum_nprobes: optionalCount('Greatest number of probes; 0 means no maximum.'),
  offset: optionalCount('Number of results to skip.'),
  order_by: Type.Optional(Type.Array(QueryOrder, { description: 'Field paths to sort by, the first one first.' })),
  prefilter: optionalFlag('Filter before the vector search (default) or after it.'),
  refine_factor: optionalCount('Re-rank this many times `k` results with the exact vectors.'),
  vector_column: Type.Optional(Type.String({ minLength: 1, description: 'Field path of the vector field to search.' })),
  version: Type.Optional(Version),
  with_row_id: optionalFlag('Return the row id as a column named `_rowid`.'),
});
export type QueryTableBody = Type.Static<typeof QueryTableBody>;

export const ExplainPlanBody = requestBody({
  query: QueryTableBody,
  verbose: optionalFlag('With more detail.'),
  branch: Type.Optional(Branch),
});
export type ExplainPlanBody = Type.Static<typeof ExplainPlanBody>;

export const CountRowsBody = requestBody({
  predicate: optionalText('SQL that selects the rows; all rows when absent.'),
  branch: Type.Optional(Branch),
  version: Type.Optional(Version),
});
export type CountRowsBody = Type.Static<typeof CountRowsBody>;

export const RowsReply = Type.Object({
  rows: Type.Array(anyObject(), {
    description: 'One object per row, with a member per column.',
  }),
});

export const Metric = Type.Object({
  value: Type.Number(),
  unit: Type.String({ description: '`count`, `bytes` or `nanoseconds`.' }),
  text: Type.String({ description: 'As the engine printed it.' }),
});

export const PlanReply = replyBody({
  text: Type.String({ description: 'The whole analysis as text.' }),
  plan: anyObject('The root step: `operator`, `details`, `metrics`, `children`.'),
});

const rows = (description: string) => Type.Integer({ minimum: 0, description });
const flagText = (description: string) => optionalText(`${description} \`true\` or \`false\`.`);
const UploadId = Type.String({ minLength: 1, description: 'The upload, as `multipart_write/create` named it.' });

export const InsertQuery = queryParameters({
  mode: optionalText('`append` (default) or `overwrite`; case and underscore do not matter.'),
  branch: Type.Optional(Branch),
  upload_id: Type.Optional(UploadId),
  upload_part_id: Type.Optional(
    Type.String({ minLength: 1, description: 'Name of this part of the upload; the same name again replaces it.' }),
  ),
});

export const InsertReply = replyBody({
  version: Type.Optional(Version),
  num_inserted_rows: rows('Rows that were added; for a part of an upload, those that wait to be added.'),
  transaction_id: optionalText(),
});
export type InsertReply = Type.Static<typeof InsertReply>;

export const MergeInsertQuery = queryParameters({
  on: Type.Array(Type.String(), { description: 'Column that rows are matched on; may be given several times.' }),
  when_matched_update_all: flagText('Update rows that match.'),
  when_matched_update_all_filt: optionalText(
    'SQL over `target.` and `source.` columns: only matching rows for which it is true.',
  ),
  when_not_matched_insert_all: flagText('Insert rows that match none.'),
  when_not_matched_by_source_delete: flagText('Delete rows of the table that match none that were sent.'),
  when_not_matched_by_source_delete_filt: optionalText(
    'SQL over the columns of the table: only those rows for which it is true.',
  ),
  timeout: optionalText('Longest time, such as `30s`, `500ms` or `5m`.'),
  use_index: flagText('Look keys up in an index when there is one.'),
  use_lsm: flagText('Has no effect.'),
  branch: Type.Optional(Branch),
});

export const MergeInsertReply = replyBody({
  version: Version,
  num_inserted_rows: optionalCount('Rows that were new.'),
  num_updated_rows: optionalCount('Rows of the table that matched.'),
  num_deleted_rows: optionalCount('Rows of the table that were not sent.'),
  num_attempts: optionalCount('How often the merge was tried.'),
  num_rows: optionalCount('Rows that were written.'),
  transaction_id: optionalText(),
});
export type MergeInsertReply = Type.Static<typeof MergeInsertReply>;

export const DeleteBody = requestBody({
  predicate: Type.String({ description: 'SQL that selects the rows to delete.' }),
  branch: Type.Optional(Branch),
});
export type DeleteBody = Type.Static<typeof DeleteBody>;

export const DeleteReply = replyBody({
  version: Version,
  num_deleted_rows: rows('Rows that were deleted.'),
  transaction_id: optionalText(),
});
export type DeleteReply = Type.Static<typeof DeleteReply>;

export const BeginUploadReply = replyBody({ upload_id: UploadId });

export const EndUploadQuery = queryParameters({ branch: Type.Optional(Branch), upload_id: UploadId });

export const CompleteUploadReply = replyBody({
  version: Version,
  num_inserted_rows: rows('Rows of all parts together.'),
  transaction_id: optionalText(),
});

export const AbortUploadReply = replyBody({ upload_id: UploadId });
