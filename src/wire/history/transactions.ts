import { Type } from 'typebox';
import {
  strictObject,
  pageParameters,
  StringMap,
  optionalText,
  queryParameters,
  replyBody,
  requestBody,
} from '../shapes.ts';

export const DescribeTransactionBody = requestBody({});

export const TransactionReply = replyBody({
  status: Type.String({ description: 'Always `Succeeded`: what is recorded is committed.' }),
  properties: StringMap,
});
export type TransactionReply = Type.Static<typeof TransactionReply>;

const Mode = optionalText();

export const AlterTransactionBody = requestBody({
  actions: Type.Array(
    strictObject({
      setStatusAction: Type.Optional(strictObject({ status: optionalText() })),
      setPropertyAction: Type.Optional(strictObject({ key: optionalText(), value: optionalText(), mode: Mode })),
      unsetPropertyAction: Type.Optional(strictObject({ key: optionalText(), mode: Mode })),
    }),
  ),
});
export type AlterTransactionBody = Type.Static<typeof AlterTransactionBody>;

export const ListTransactionsQuery = queryParameters({
  ...pageParameters,
  newest_first: optionalText('`true`: the newest first, and with a page token those before it.'),
  page_token: optionalText('The token of the page before, or the id of the last transaction that was seen.'),
});

export const Transaction = Type.Object({
  transaction_id: Type.String(),
  operation: Type.String(),
  id: Type.Array(Type.String(), { description: 'Path of the table or namespace.' }),
  version: Type.Optional(Type.Integer({ description: 'Absent for changes of names, which make no version.' })),
  branch: optionalText(),
  caller: Type.String(),
  request_id: Type.String(),
  committed_at: Type.String({ description: 'RFC 3339, UTC.' }),
});
export type Transaction = Type.Static<typeof Transaction>;

export const ListTransactionsReply = replyBody({
  transactions: Type.Array(Transaction),
  page_token: optionalText('Present when there are more. To follow the feed, go on behind the last id.'),
});
export type ListTransactionsReply = Type.Static<typeof ListTransactionsReply>;
