import { Type } from 'typebox';
import * as Shape from './shapes.ts';

const FieldMetadataUpdate = Shape.strictObject({
  path: Type.String({ minLength: 1, description: 'Path of the field.' }),
  metadata: Shape.mapOf(
    Type.Union([Type.String(), Type.Null()]),
    'Merged into the existing metadata; null deletes a key.',
  ),
  replace: Shape.optionalFlag('Replace all metadata of the field instead of merging.'),
});

export const UpdateFieldMetadataBody = Shape.requestBody({
  updates: Type.Array(FieldMetadataUpdate),
  branch: Type.Optional(Shape.Branch),
});
export type UpdateFieldMetadataBody = Type.Static<typeof UpdateFieldMetadataBody>;

export const UpdateFieldMetadataReply = Shape.writeReply({
  fields: Shape.mapOf(Shape.StringMap, 'Resulting metadata by canonical field path.'),
});
export type UpdateFieldMetadataReply = Type.Static<typeof UpdateFieldMetadataReply>;

const AddColumnsEntry = Shape.strictObject({
  name: Type.String({ description: 'Name of the new column.' }),
  expression: Shape.optionalText('SQL expression that computes the values of existing rows.'),
  data_type: Shape.optionalAny(
    'Data type of a column filled with nulls, as JSON or as a name, in place of `expression`.',
  ),
  computed: Type.Optional(
    Type.Union([Type.String(), Type.Null(), Type.Boolean()], {
      description:
        'SQL expression, stored with the table, that computes the values of rows written from now on; backfill_column fills existing rows.',
    }),
  ),
  virtual_column: Shape.optionalAny('Not offered: it would run code.'),
  all_null: Shape.optionalAny('Not offered without a data_type.'),
});

export const AddColumnsBody = Shape.requestBody({
  new_columns: Type.Array(AddColumnsEntry),
  function: Shape.optionalAny('Not offered.'),
  branch: Type.Optional(Shape.Branch),
});
export type AddColumnsBody = Type.Static<typeof AddColumnsBody>;

const AlterColumnsEntry = Shape.strictObject({
  path: Type.String({ minLength: 1, description: 'Path of the field.' }),
  rename: Type.Optional(Type.Union([Type.String(), Type.Null()], { description: 'New name.' })),
  nullable: Type.Optional(Type.Union([Type.Boolean(), Type.Null()], { description: 'Whether the field may be null.' })),
  data_type: Shape.optionalAny('New type, as JSON or as a name.'),
  virtual_column: Shape.optionalAny('Not offered.'),
});

export const AlterColumnsBody = Shape.requestBody({
  alterations: Type.Array(AlterColumnsEntry),
  branch: Type.Optional(Shape.Branch),
});
export type AlterColumnsBody = Type.Static<typeof AlterColumnsBody>;

export const DropColumnsBody = Shape.requestBody({
  columns: Type.Array(Type.String({ minLength: 1 }), { description: 'Paths of the fields to drop.' }),
  branch: Type.Optional(Shape.Branch),
});
export type DropColumnsBody = Type.Static<typeof DropColumnsBody>;

const IGNORED = 'Accepted but ignored: the server chooses this.';

export const BackfillColumnBody = Shape.requestBody({
  column: Type.String({ minLength: 1, description: 'The computed column.' }),
  where: Type.Optional(
    Type.Union([Type.String(), Type.Null()], { description: 'Fill only rows that match this condition.' }),
  ),
  branch: Type.Optional(Shape.Branch),
  concurrency: Shape.optionalAny(IGNORED),
  intra_applier_concurrency: Shape.optionalAny(IGNORED),
  min_checkpoint_size: Shape.optionalAny(IGNORED),
  max_checkpoint_size: Shape.optionalAny(IGNORED),
  batch_checkpoint_flush_interval_seconds: Shape.optionalAny(IGNORED),
  read_version: Shape.optionalAny('Not offered: a backfill always fills the rows of the latest version.'),
  task_size: Shape.optionalAny(IGNORED),
  num_frags: Shape.optionalAny(IGNORED),
  checkpoint_size: Shape.optionalAny(IGNORED),
  commit_granularity: Shape.optionalAny(IGNORED),
  cluster: Shape.optionalAny(IGNORED),
  manifest: Shape.optionalAny(IGNORED),
});
export type BackfillColumnBody = Type.Static<typeof BackfillColumnBody>;

export const JobStartedReply = Shape.replyBody({
  job_id: Type.String({ description: 'Id of the job, for `jobs/describe`.' }),
});

export const ColumnsReply = Shape.writeReply({});
export type ColumnsReply = Type.Static<typeof ColumnsReply>;

export const SchemaMetadataBody = Shape.requestBody(
  { branch: Type.Optional(Shape.Branch), metadata: Shape.StringMap },
  { description: 'Key-value pairs, either as the whole body or under `metadata`.' },
);
