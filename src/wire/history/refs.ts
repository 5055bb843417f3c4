import { Type } from 'typebox';
import * as Shape from '../shapes.ts';

export const BranchShape = Type.Object({
  parentBranch: Shape.optionalText('Absent if the parent is the main branch.'),
  parentVersion: Shape.Version,
  createAt: Shape.count('Creation time, in seconds since 1970.'),
  manifestSize: Shape.count(),
});
export type BranchShape = Type.Static<typeof BranchShape>;

export const ListBranchesReply = Shape.replyBody({
  branches: Shape.mapOf(BranchShape),
  page_token: Shape.NextPageToken,
});
export type ListBranchesReply = Type.Static<typeof ListBranchesReply>;

export const CreateBranchBody = Shape.requestBody({
  name: Type.String({ description: 'Name of the new branch.' }),
  from_branch: Type.Optional(Shape.Branch),
  from_version: Type.Optional(Shape.Version),
});
export type CreateBranchBody = Type.Static<typeof CreateBranchBody>;

export const DeleteBranchBody = Shape.requestBody({ name: Type.String({ description: 'Name of the branch.' }) });

const TagName = Type.String({ description: 'Name of the tag.' });

export const TagShape = Type.Object({
  version: Shape.Version,
  branch: Shape.optionalText('Absent for the main branch.'),
  manifestSize: Shape.count(),
  createdAt: Shape.optionalText('Creation time, RFC 3339; absent if the storage does not report it.'),
});
export type TagShape = Type.Static<typeof TagShape>;

export const ListTagsReply = Shape.replyBody({
  tags: Shape.mapOf(TagShape),
  page_token: Shape.NextPageToken,
});
export type ListTagsReply = Type.Static<typeof ListTagsReply>;

export const TagBody = Shape.requestBody({ tag: TagName });

export const TagVersionReply = Shape.replyBody({
  version: Shape.Version,
  branch: Shape.optionalText('Absent for the main branch.'),
});
export type TagVersionReply = Type.Static<typeof TagVersionReply>;

export const TagChangeBody = Shape.requestBody({
  tag: TagName,
  version: Shape.Version,
  branch: Type.Optional(Shape.Branch),
});
export type TagChangeBody = Type.Static<typeof TagChangeBody>;
