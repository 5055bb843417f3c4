import { Type } from 'typebox';
import {
  Branch,
  mapOf,
  NextPageToken,
  pageFields,
  pageParameters,
  Version,
  optionalText,
  queryParameters,
  replyBody,
  requestBody,
} from '../shapes.ts';

export const ListBranchesQuery = queryParameters(pageParameters);

export const ListBranchesBody = requestBody(pageFields);

export const BranchShape = Type.Object({
  parentBranch: optionalText('Absent for the main branch.'),
  parentVersion: Version,
  createAt: Type.Integer({ minimum: 0, description: 'When it was made, in seconds since 1970.' }),
  manifestSize: Type.Integer({ minimum: 0 }),
});
export type BranchShape = Type.Static<typeof BranchShape>;

export const ListBranchesReply = replyBody({
  branches: mapOf(BranchShape),
  page_token: NextPageToken,
});
export type ListBranchesReply = Type.Static<typeof ListBranchesReply>;

export const CreateBranchBody = requestBody({
  name: Type.String({ description: 'Name of the new branch.' }),
  from_branch: Type.Optional(Branch),
  from_version: Type.Optional(Version),
});
export type CreateBranchBody = Type.Static<typeof CreateBranchBody>;

export const DeleteBranchBody = requestBody({ name: Type.String({ description: 'Name of the branch.' }) });
