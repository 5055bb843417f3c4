import { Type } from 'typebox';
import { Branch, Context, Version, requestFields } from '../shapes.ts';
import { DelimiterQuery } from '../tables.ts';
import { pageFields, pageParameters } from './versions.ts';

export const ListBranchesQuery = Type.Object({ ...DelimiterQuery.properties, ...pageParameters });

export const ListBranchesBody = Type.Object({ ...requestFields, ...pageFields }, { additionalProperties: false });
export type ListBranchesBody = Type.Static<typeof ListBranchesBody>;

export const BranchShape = Type.Object({
  parentBranch: Type.Optional(Type.String({ description: 'Absent for the main branch.' })),
  parentVersion: Version,
  createAt: Type.Integer({ minimum: 0, description: 'When it was made, in seconds since 1970.' }),
  manifestSize: Type.Integer({ minimum: 0 }),
});
export type BranchShape = Type.Static<typeof BranchShape>;

export const ListBranchesReply = Type.Object({
  branches: Type.Unsafe<Record<string, BranchShape>>(Type.Object({}, { additionalProperties: BranchShape })),
  page_token: Type.Optional(Type.String({ description: 'Present when there are more.' })),
  context: Type.Optional(Context),
});
export type ListBranchesReply = Type.Static<typeof ListBranchesReply>;

export const CreateBranchBody = Type.Object(
  {
    ...requestFields,
    name: Type.String({ description: 'Name of the new branch.' }),
    from_branch: Type.Optional(Branch),
    from_version: Type.Optional(Version),
  },
  { additionalProperties: false },
);
export type CreateBranchBody = Type.Static<typeof CreateBranchBody>;

export const DeleteBranchBody = Type.Object(
  { ...requestFields, name: Type.String({ description: 'Name of the branch.' }) },
  { additionalProperties: false },
);
export type DeleteBranchBody = Type.Static<typeof DeleteBranchBody>;
