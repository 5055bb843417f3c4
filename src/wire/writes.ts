import { Type } from 'typebox';
import { Branch, Context, Version, requestFields } from './shapes.ts';
import { DelimiterQuery } from './tables.ts';

const Rows = (description: string) => Type.Integer({ minimum: 0, description });
const Flag = (description: string) =>
  Type.Optional(Type.String({ description: `${description} \`true\` or \`false\`.` }));
const UploadId = Type.String({ minLength: 1, description: 'The upload, as `multipart_write/create` named it.' });

export const InsertQuery = Type.Object({
  ...DelimiterQuery.properties,
  mode: Type.Optional(
    Type.String({ description: '`append` (default) or `overwrite`; case and underscore do not matter.' }),
  ),
  branch: Type.Optional(Branch),
  upload_id: Type.Optional(UploadId),
  upload_part_id: Type.Optional(
    Type.String({ minLength: 1, description: 'Name of this part of the upload; the same name again replaces it.' }),
  ),
});

export const InsertReply = Type.Object({
  version: Type.Optional(Version),
  num_inserted_rows: Rows('Rows that were added; for a part of an upload, those that wait to be added.'),
  transaction_id: Type.Optional(Type.String()),
  context: Type.Optional(Context),
});
export type InsertReply = Type.Static<typeof InsertReply>;

export const MergeInsertQuery = Type.Object({
  ...DelimiterQuery.properties,
  on: Type.Array(Type.String(), { description: 'Column that rows are matched on; may be given several times.' }),
  when_matched_update_all: Flag('Update rows that match.'),
  when_matched_update_all_filt: Type.Optional(
    Type.String({ description: 'SQL over `target.` and `source.` columns: only matching rows for which it is true.' }),
  ),
  when_not_matched_insert_all: Flag('Insert rows that match none.'),
  when_not_matched_by_source_delete: Flag('Delete rows of the table that match none that were sent.'),
  when_not_matched_by_source_delete_filt: Type.Optional(
    Type.String({ description: 'SQL over the columns of the table: only those rows for which it is true.' }),
  ),
  timeout: Type.Optional(Type.String({ description: 'Longest time, such as `30s`, `500ms` or `5m`.' })),
  use_index: Flag('Look keys up in an index when there is one.'),
  use_lsm: Flag('Has no effect.'),
  branch: Type.Optional(Branch),
});

export const MergeInsertReply = Type.Object({
  version: Version,
  num_inserted_rows: Type.Optional(Rows('Rows that were new.')),
  num_updated_rows: Type.Optional(Rows('Rows of the table that matched.')),
  num_deleted_rows: Type.Optional(Rows('Rows of the table that were not sent.')),
  num_attempts: Type.Optional(Rows('How often the merge was tried.')),
  num_rows: Type.Optional(Rows('Rows that were written.')),
  transaction_id: Type.Optional(Type.String()),
  context: Type.Optional(Context),
});
export type MergeInsertReply = Type.Static<typeof MergeInsertReply>;

export const DeleteBody = Type.Object(
  {
    ...requestFields,
    predicate: Type.String({ description: 'SQL that selects the rows to delete.' }),
    branch: Type.Optional(Branch),
  },
  { additionalProperties: false },
);
export type DeleteBody = Type.Static<typeof DeleteBody>;

export const DeleteReply = Type.Object({
  version: Version,
  num_deleted_rows: Rows('Rows that were deleted.'),
  transaction_id: Type.Optional(Type.String()),
  context: Type.Optional(Context),
});
export type DeleteReply = Type.Static<typeof DeleteReply>;

export const BeginUploadQuery = Type.Object({ ...DelimiterQuery.properties, branch: Type.Optional(Branch) });

export const BeginUploadReply = Type.Object({ upload_id: UploadId, context: Type.Optional(Context) });

export const EndUploadQuery = Type.Object({ ...BeginUploadQuery.properties, upload_id: UploadId });

export const CompleteUploadReply = Type.Object({
  version: Version,
  num_inserted_rows: Rows('Rows of all parts together.'),
  transaction_id: Type.Optional(Type.String()),
  context: Type.Optional(Context),
});
export type CompleteUploadReply = Type.Static<typeof CompleteUploadReply>;

export const AbortUploadReply = Type.Object({ upload_id: UploadId, context: Type.Optional(Context) });
