import { Type } from 'typebox';
import {
  NextPageToken,
  pageParameters,
  StringMap,
  optionalText,
  queryParameters,
  replyBody,
  requestBody,
} from './shapes.ts';

export const ListNamespacesQuery = queryParameters({
  ...pageParameters,
  page_token: optionalText('The token of the page before, or the name after which to go on.'),
});

export const ListNamespacesReply = replyBody({
  namespaces: Type.Array(Type.String()),
  page_token: NextPageToken,
});
export type ListNamespacesReply = Type.Static<typeof ListNamespacesReply>;

export const CreateNamespaceBody = requestBody({
  mode: optionalText('`create` (default), `exist_ok` or `overwrite`; case and underscore do not matter.'),
  properties: Type.Optional(StringMap),
});
export type CreateNamespaceBody = Type.Static<typeof CreateNamespaceBody>;

export const CreateNamespaceReply = replyBody({ properties: StringMap, transaction_id: optionalText() });
export type CreateNamespaceReply = Type.Static<typeof CreateNamespaceReply>;

/** Of a namespace that exists, and nothing else. */
export const NamespaceBody = requestBody({});

export const DescribeNamespaceReply = replyBody({ properties: StringMap });
export type DescribeNamespaceReply = Type.Static<typeof DescribeNamespaceReply>;

export const DropNamespaceBody = requestBody({
  mode: optionalText('`fail` (default) or `skip`: what becomes of a namespace that is not there.'),
  behavior: optionalText('`restrict` (default) refuses one that is not empty, `cascade` drops what is inside.'),
});
export type DropNamespaceBody = Type.Static<typeof DropNamespaceBody>;

export const DropNamespaceReply = replyBody({
  properties: Type.Optional(StringMap),
  transaction_id: Type.Optional(Type.Array(Type.String())),
});
export type DropNamespaceReply = Type.Static<typeof DropNamespaceReply>;
