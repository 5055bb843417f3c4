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

const TagName = Type.String({ description: 'Name of the tag.' });

export const ListTagsQuery = queryParameters(pageParameters);

export const ListTagsBody = requestBody(pageFields);

export const TagShape = Type.Object({
  version: Version,
  branch: optionalText('Absent for the main branch.'),
  manifestSize: Type.Integer({ minimum: 0 }),
  createdAt: optionalText('As RFC 3339, where the storage tells it.'),
});
export type TagShape = Type.Static<typeof TagShape>;

export const ListTagsReply = replyBody({
  tags: mapOf(TagShape),
  page_token: NextPageToken,
});
export type ListTagsReply = Type.Static<typeof ListTagsReply>;

export const TagBody = requestBody({ tag: TagName });

export const TagVersionReply = replyBody({ version: Version, branch: optionalText('Absent for the main branch.') });
export type TagVersionReply = Type.Static<typeof TagVersionReply>;

export const TagChangeBody = requestBody({ tag: TagName, version: Version, branch: Type.Optional(Branch) });
export type TagChangeBody = Type.Static<typeof TagChangeBody>;
