import { Type } from 'typebox';
import * as Shape from '../shapes.ts';

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
