import { Type } from 'typebox';
import { Context, StringMap, requestFields } from './shapes.ts';
import { DelimiterQuery } from './tables.ts';

export const NamespaceQuery = DelimiterQuery;

export const PageQuery = Type.Object({
  ...DelimiterQuery.properties,
  limit: Type.Optional(Type.String({ description: 'How many entries at most, as a whole number.' })),
  page_token: Type.Optional(
    Type.String({ description: 'The token of the page before, or the name after which to go on.' }),
  ),
});

export const ListNamespacesReply = Type.Object({
  namespaces: Type.Array(Type.String()),
  page_token: Type.Optional(Type.String({ description: 'Present when there are more.' })),
  context: Type.Optional(Context),
});
export type ListNamespacesReply = Type.Static<typeof ListNamespacesReply>;

export const CreateNamespaceBody = Type.Object(
  {
    ...requestFields,
    mode: Type.Optional(
      Type.String({ description: '`create` (default), `exist_ok` or `overwrite`; case and underscore do not matter.' }),
    ),
    properties: Type.Optional(StringMap),
  },
  { additionalProperties: false },
);
export type CreateNamespaceBody = Type.Static<typeof CreateNamespaceBody>;

export const CreateNamespaceReply = Type.Object({
  properties: StringMap,
  transaction_id: Type.Optional(Type.String()),
  context: Type.Optional(Context),
});
export type CreateNamespaceReply = Type.Static<typeof CreateNamespaceReply>;

/** Of a namespace that exists, and nothing else. */
export const NamespaceBody = Type.Object({ ...requestFields }, { additionalProperties: false });
export type NamespaceBody = Type.Static<typeof NamespaceBody>;

export const DescribeNamespaceReply = Type.Object({ properties: StringMap, context: Type.Optional(Context) });
export type DescribeNamespaceReply = Type.Static<typeof DescribeNamespaceReply>;

export const DropNamespaceBody = Type.Object(
  {
    ...requestFields,
    mode: Type.Optional(
      Type.String({ description: '`fail` (default) or `skip`: what becomes of a namespace that is not there.' }),
    ),
    behavior: Type.Optional(
      Type.String({
        description: '`restrict` (default) refuses one that is not empty, `cascade` drops what is inside.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type DropNamespaceBody = Type.Static<typeof DropNamespaceBody>;

export const DropNamespaceReply = Type.Object({
  properties: Type.Optional(StringMap),
  transaction_id: Type.Optional(Type.Array(Type.String())),
  context: Type.Optional(Context),
});
export type DropNamespaceReply = Type.Static<typeof DropNamespaceReply>;
