import { Type } from 'typebox';
import {
  Branch,
  strictObject,
  mapOf,
  optionalAny,
  StringMap,
  Version,
  optionalFlag,
  optionalText,
  replyBody,
  requestBody,
} from './shapes.ts';

const FieldMetadataUpdate = strictObject({
  path: Type.String({ minLength: 1, description: 'Path of the field.' }),
  metadata: mapOf(Type.Union([Type.String(), Type.Null()]), 'Merged into what is there; null deletes the key.'),
  replace: optionalFlag('Replace all metadata of the field instead of merging.'),
});

export const UpdateFieldMetadataBody = requestBody({
  updates: Type.Array(FieldMetadataUpdate),
  branch: Type.Optional(Branch),
});
export type UpdateFieldMetadataBody = Type.Static<typeof UpdateFieldMetadataBody>;

export const UpdateFieldMetadataReply = replyBody({
  version: Version,
  fields: mapOf(StringMap, 'Resulting metadata by canonical field path.'),
  transaction_id: optionalText(),
});

const AddColumnsEntry = strictObject({
  name: Type.String({ description: 'Name of the new column.' }),
  expression: optionalText('SQL that gives the values of the rows that are there.'),
  data_type: optionalAny('Type of a column of nulls, as JSON or as a name, in place of an expression.'),
  computed: optionalAny('Not offered.'),
  virtual_column: optionalAny('Not offered.'),
  all_null: optionalAny('Not offered without a data_type.'),
});

export const AddColumnsBody = requestBody({
  new_columns: Type.Array(AddColumnsEntry),
  function: optionalAny('Not offered.'),
  branch: Type.Optional(Branch),
});
export type AddColumnsBody = Type.Static<typeof AddColumnsBody>;

const AlterColumnsEntry = strictObject({
  path: Type.String({ minLength: 1, description: 'Path of the field.' }),
  rename: Type.Optional(Type.Union([Type.String(), Type.Null()], { description: 'New name.' })),
  nullable: Type.Optional(Type.Union([Type.Boolean(), Type.Null()], { description: 'Whether it may be null.' })),
  data_type: optionalAny('New type, as JSON or as a name.'),
  virtual_column: optionalAny('Not offered.'),
});

export const AlterColumnsBody = requestBody({
  alterations: Type.Array(AlterColumnsEntry),
  branch: Type.Optional(Branch),
});
export type AlterColumnsBody = Type.Static<typeof AlterColumnsBody>;

export const DropColumnsBody = requestBody({
  columns: Type.Array(Type.String({ minLength: 1 }), { description: 'Paths of the fields to drop.' }),
  branch: Type.Optional(Branch),
});

export const ColumnsReply = replyBody({ version: Version, transaction_id: optionalText() });

export const SchemaMetadataBody = requestBody(
  { branch: Type.Optional(Branch), metadata: StringMap },
  { description: 'The pairs, either as the whole body or as `metadata`.' },
);
