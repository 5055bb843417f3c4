import { Type } from 'typebox';
import * as Shape from './shapes.ts';

export const ListNamespacesQuery = Shape.queryParameters({
  ...Shape.pageParameters,
  page_token: Shape.optionalText('`page_token` of the previous page, or a name to start after.'),
});

export const ListNamespacesReply = Shape.replyBody({
  namespaces: Type.Array(Type.String()),
  page_token: Shape.NextPageToken,
});
export type ListNamespacesReply = Type.Static<typeof ListNamespacesReply>;

export const CreateNamespaceBody = Shape.requestBody({
  mode: Shape.optionalText('`create` (default), `exist_ok` or `overwrite`; case and underscores are ignored.'),
  properties: Type.Optional(Shape.StringMap),
});
export type CreateNamespaceBody = Type.Static<typeof CreateNamespaceBody>;

export const CreateNamespaceReply = Shape.replyBody({
  properties: Shape.StringMap,
  transaction_id: Shape.optionalText(),
});
export type CreateNamespaceReply = Type.Static<typeof CreateNamespaceReply>;

export const DescribeNamespaceReply = Shape.replyBody({ properties: Shape.StringMap });
export type DescribeNamespaceReply = Type.Static<typeof DescribeNamespaceReply>;

export const DropNamespaceBody = Shape.requestBody({
  mode: Shape.optionalText('What to do if the namespace does not exist: `fail` (default) or `skip`.'),
  behavior: Shape.optionalText(
    '`restrict` (default) refuses to drop a namespace that is not empty; `cascade` also drops its contents.',
  ),
});
export type DropNamespaceBody = Type.Static<typeof DropNamespaceBody>;

export const DropNamespaceReply = Shape.replyBody({
  properties: Type.Optional(Shape.StringMap),
  transaction_id: Type.Optional(Type.Array(Type.String())),
});
export type DropNamespaceReply = Type.Static<typeof DropNamespaceReply>;
