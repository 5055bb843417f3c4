import type { TransactionRecord } from '../../catalog/catalog.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { formatPath } from '../../model/identifier.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { AlterTransactionBody, DescribeTransactionBody, TransactionReply } from '../../wire/transactions.ts';
import { defineDatabaseOperation } from '../operation.ts';
import type { DatabaseRequest, Reply, RequestFacts } from '../operation.ts';
import type { Services } from '../services.ts';
import { readWord } from '../words.ts';
import { requireTransaction, toTransaction } from './shown-transaction.ts';

export const describeTransaction = defineDatabaseOperation({
  id: 'describe_transaction',
  methods: ['POST'],
  path: '/v1/transaction/:id/describe',
  summary: 'Describe a committed write: who, what, which version, when',
  permission: 'see',
  body: { kind: 'json', shape: DescribeTransactionBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: TransactionReply, description: 'The transaction.' }],
  statuses: [],
  run: describe,
});

export const alterTransaction = defineDatabaseOperation({
  id: 'alter_transaction',
  methods: ['POST'],
  path: '/v1/transaction/:id/alter',
  summary: 'Confirm the status of a transaction; nothing else of a committed write can be altered',
  permission: 'see',
  body: { kind: 'json', shape: AlterTransactionBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: TransactionReply, description: 'The transaction.' }],
  statuses: [],
  run: alter,
});

const STATUSES = ['Succeeded', 'Queued', 'Running', 'Failed', 'Canceled'] as const;

async function describe(request: DatabaseRequest<DescribeTransactionBody>, services: Services): Promise<Reply> {
  return toReply(request, await requireTransaction(request, services));
}

/** A transaction is recorded when it is committed: there is nothing left to start, to cancel or to note on it. */
async function alter(request: DatabaseRequest<AlterTransactionBody>, services: Services): Promise<Reply> {
  const record = await requireTransaction(request, services);
  for (const action of request.body.actions) requireConfirmation(action);
  return toReply(request, record);
}

function requireConfirmation(action: AlterTransactionBody['actions'][number]): void {
  const { setStatusAction: change, setPropertyAction, unsetPropertyAction } = action;
  const given = [change, setPropertyAction, unsetPropertyAction].filter((part) => part !== undefined);
  if (given.length !== 1) throw new ServiceError('InvalidInput', 'Each action must be exactly one of the three.');
  if (change === undefined) throw new ServiceError('Unsupported', 'The properties of a transaction cannot be altered.');
  if (readWord('status', change.status ?? '', STATUSES) === 'Succeeded') return;
  throw new ServiceError('Unsupported', 'The transaction is committed; its status cannot be altered any more.');
}

function toReply(request: RequestFacts, record: TransactionRecord): Reply {
  const { id, version, ...rest } = toTransaction(request, record);
  const properties = {
    ...rest,
    id: formatPath(id, request.delimiter),
    ...(version === undefined ? {} : { version: String(version) }),
  };
  const reply: TransactionReply = { status: 'Succeeded', properties };
  return { kind: 'object', body: reply };
}
