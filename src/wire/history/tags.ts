import { Type } from 'typebox';
import { Branch, Context, Version, requestFields } from '../shapes.ts';
import { DelimiterQuery } from '../tables.ts';
import { pageFields, pageParameters } from './versions.ts';

const TagName = Type.String({ description: 'Name of the tag.' });

export const ListTagsQuery = Type.Object({ ...DelimiterQuery.properties, ...pageParameters });

export const ListTagsBody = Type.Object({ ...requestFields, ...pageFields }, { additionalProperties: false });
export type ListTagsBody = Type.Static<typeof ListTagsBody>;

export const TagShape = Type.Object({
  version: Version,
  branch: Type.Optional(Type.String({ description: 'Absent for the main branch.' })),
  manifestSize: Type.Integer({ minimum: 0 }),
  createdAt: Type.Optional(Type.String({ description: 'As RFC 3339, where the storage tells it.' })),
});
export type TagShape = Type.Static<typeof TagShape>;

export const ListTagsReply = Type.Object({
  tags: Type.Unsafe<Record<string, TagShape>>(Type.Object({}, { additionalProperties: TagShape })),
  page_token: Type.Optional(Type.String({ description: 'Present when there are more.' })),
  context: Type.Optional(Context),
});
export type ListTagsReply = Type.Static<typeof ListTagsReply>;

export const TagBody = Type.Object({ ...requestFields, tag: TagName }, { additionalProperties: false });
export type TagBody = Type.Static<typeof TagBody>;

export const TagVersionReply = Type.Object({
  version: Version,
  branch: Type.Optional(Type.String({ description: 'Absent for the main branch.' })),
  context: Type.Optional(Context),
});
export type TagVersionReply = Type.Static<typeof TagVersionReply>;

export const TagChangeBody = Type.Object(
  { ...requestFields, tag: TagName, version: Version, branch: Type.Optional(Branch) },
  { additionalProperties: false },
);
export type TagChangeBody = Type.Static<typeof TagChangeBody>;
