import { Type } from 'typebox';
import * as Shape from '../shapes.ts';

export const TransactionReply = Shape.replyBody({
  status: Type.String({ description: 'Always `Succeeded`: what is recorded is committed.' }),
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
  newest_first: Shape.optionalText('`true`: the newest first, and with a page token those before it.'),
  page_token: Shape.optionalText('The token of the page before, or the id of the last transaction that was seen.'),
});

export const Transaction = Type.Object({
  transaction_id: Type.String(),
  operation: Type.String(),
  id: Type.Array(Type.String(), { description: 'Path of the table or namespace.' }),
  version: Type.Optional(Type.Integer({ description: 'Absent for changes of names, which make no version.' })),
  branch: Shape.optionalText(),
  caller: Type.String(),
  request_id: Type.String(),
  committed_at: Type.String({ description: 'RFC 3339, UTC.' }),
});
export type Transaction = Type.Static<typeof Transaction>;

export const ListTransactionsReply = Shape.replyBody({
  transactions: Type.Array(Transaction),
  page_token: Shape.optionalText('Present when there are more. To follow the feed, go on behind the last id.'),
});
export type ListTransactionsReply = Type.Static<typeof ListTransactionsReply>;
