import { Type } from 'typebox';
import { Branch, Context, StringMap, Version, requestFields } from './shapes.ts';

export const FieldMetadataUpdate = Type.Object(
  {
    path: Type.String({ minLength: 1, description: 'Path of the field.' }),
    metadata: Type.Unsafe<Record<string, string | null>>(
      Type.Object(
        {},
        {
          additionalProperties: Type.Union([Type.String(), Type.Null()]),
          description: 'Merged into what is there; null deletes the key.',
        },
      ),
    ),
    replace: Type.Optional(Type.Boolean({ description: 'Replace all metadata of the field instead of merging.' })),
  },
  { additionalProperties: false },
);

export const UpdateFieldMetadataBody = Type.Object(
  {
    ...requestFields,
    updates: Type.Array(FieldMetadataUpdate),
    branch: Type.Optional(Branch),
  },
  { additionalProperties: false },
);
export type UpdateFieldMetadataBody = Type.Static<typeof UpdateFieldMetadataBody>;

export const UpdateFieldMetadataReply = Type.Object({
  version: Version,
  fields: Type.Unsafe<Record<string, Record<string, string>>>(
    Type.Object({}, { additionalProperties: StringMap, description: 'Resulting metadata by canonical field path.' }),
  ),
  transaction_id: Type.Optional(Type.String()),
  context: Type.Optional(Context),
});
export type UpdateFieldMetadataReply = Type.Static<typeof UpdateFieldMetadataReply>;
