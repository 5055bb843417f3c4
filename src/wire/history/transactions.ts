import { Type } from 'typebox';
import * as Shape from '../shapes.ts';

export const TransactionReply = Shape.replyBody({
  status: Type.String({ description: 'Always `Succeeded`: only committed transactions are recorded.' }),
  properties: Shape.StringMap,
});

export const AlterTransactionBody = Shape.requestBody({
  actions: Type.Array(
    Shape.strictObject({
      setStatusAction: Type.Optional(Shape.strictObject({ status: Shape.optionalText() })),
      setPropertyAction: Type.Optional(
        Shape.strictObject({ key: Shape.optionalText(), value: Shape.optionalText(), mode: Shape.optionalText() }),
      ),
      unsetPropertyAction: Type.Optional(Shape.strictObject({ key: Shape.optionalText(), mode: Shape.optionalText() })),
    }),
  ),
});
export type AlterTransactionBody = Type.Static<typeof AlterTransactionBody>;

export const ListTransactionsQuery = Shape.queryParameters({
  ...Shape.pageParameters,
  newest_first: Shape.optionalText(
    '`true` lists the newest transactions first; a page token then continues with older ones.',
  ),
  page_token: Shape.optionalText(
    '`page_token` of the previous page, or the id of the last transaction that you received.',
  ),
});

export const Transaction = Type.Object({
  transaction_id: Type.String(),
  operation: Type.String(),
  id: Type.Array(Type.String(), { description: 'Path of the table or namespace.' }),
  renamed_from: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Of a rename: the path before. A path that the caller may not read is left out; `id` is then the former path too.',
    }),
  ),
  version: Type.Optional(Type.Integer({ description: 'Absent for changes that create no version, such as a rename.' })),
  branch: Shape.optionalText(),
  caller: Type.String({ description: 'Principal, such as `key:<id>`.' }),
  caller_name: Shape.optionalText('Name of the key or client; absent for other callers.'),
  request_id: Type.String(),
  committed_at: Type.String({ description: 'RFC 3339, UTC.' }),
});
export type Transaction = Type.Static<typeof Transaction>;

export const ListTransactionsReply = Shape.replyBody({
  transactions: Type.Array(Transaction),
  page_token: Shape.optionalText(
    'Token of the next page; present if there are more. To follow the feed, continue after the last transaction id.',
  ),
});
export type ListTransactionsReply = Type.Static<typeof ListTransactionsReply>;
