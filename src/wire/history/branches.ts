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
