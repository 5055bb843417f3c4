import { Type } from 'typebox';
import { Context, StringMap, requestFields } from '../shapes.ts';
import { PageQuery } from '../namespaces.ts';

export const DescribeTransactionBody = Type.Object({ ...requestFields }, { additionalProperties: false });
export type DescribeTransactionBody = Type.Static<typeof DescribeTransactionBody>;

export const TransactionReply = Type.Object({
  status: Type.String({ description: 'Always `Succeeded`: what is recorded is committed.' }),
  properties: StringMap,
  context: Type.Optional(Context),
});
export type TransactionReply = Type.Static<typeof TransactionReply>;

const Mode = Type.Optional(Type.String());

export const AlterTransactionBody = Type.Object(
  {
    ...requestFields,
    actions: Type.Array(
      Type.Object(
        {
          setStatusAction: Type.Optional(
            Type.Object({ status: Type.Optional(Type.String()) }, { additionalProperties: false }),
          ),
          setPropertyAction: Type.Optional(
            Type.Object(
              { key: Type.Optional(Type.String()), value: Type.Optional(Type.String()), mode: Mode },
              { additionalProperties: false },
            ),
          ),
          unsetPropertyAction: Type.Optional(
            Type.Object({ key: Type.Optional(Type.String()), mode: Mode }, { additionalProperties: false }),
          ),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);
export type AlterTransactionBody = Type.Static<typeof AlterTransactionBody>;

export const ListTransactionsQuery = Type.Object({
  ...PageQuery.properties,
  newest_first: Type.Optional(
    Type.String({ description: '`true`: the newest first, and with a page token those before it.' }),
  ),
  page_token: Type.Optional(
    Type.String({ description: 'The token of the page before, or the id of the last transaction that was seen.' }),
  ),
});

export const Transaction = Type.Object({
  transaction_id: Type.String(),
  operation: Type.String(),
  id: Type.Array(Type.String(), { description: 'Path of the table or namespace.' }),
  version: Type.Optional(Type.Integer({ description: 'Absent for changes of names, which make no version.' })),
  branch: Type.Optional(Type.String()),
  caller: Type.String(),
  request_id: Type.String(),
  committed_at: Type.String({ description: 'RFC 3339, UTC.' }),
});
export type Transaction = Type.Static<typeof Transaction>;

export const ListTransactionsReply = Type.Object({
  transactions: Type.Array(Transaction),
  page_token: Type.Optional(
    Type.String({ description: 'Present when there are more. To follow the feed, go on behind the last id.' }),
  ),
  context: Type.Optional(Context),
});
export type ListTransactionsReply = Type.Static<typeof ListTransactionsReply>;
