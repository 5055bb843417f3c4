import type { TransactionRecord } from '../../catalog/catalog.ts';
import { ServiceError } from '../../errors/service-error.ts';
import {
  ListTransactionsQuery,
  ListTransactionsReply,
  AlterTransactionBody,
  DescribeTransactionBody,
  TransactionReply,
} from '../../wire/history/transactions.ts';
import { defineDatabaseOperation, json } from '../operation.ts';
import type { DatabaseRequest, Reply, RequestFacts } from '../operation.ts';
import { readLimit } from '../shared/pages.ts';
import { readFlag, readWord } from '../shared/parameters.ts';
import type { Services } from '../services.ts';
import { formatPath, quoteForMessage } from '../../model/identifier.ts';
import { isPermitted } from '../../model/access.ts';
import type { Transaction } from '../../wire/history/transactions.ts';
import { toShownPath } from '../shared/shown-path.ts';

export const listTransactions = defineDatabaseOperation({
  id: 'list_transactions',
  methods: ['GET'],
  path: '/v1/transaction/list',
  summary:
    'List the committed writes that the caller may see, in the order of commits or the newest first: the audit feed',
  permission: 'see',
  body: { kind: 'none' },
  query: ListTransactionsQuery,
  replies: [json(ListTransactionsReply, 'A page of the feed.')],
  run: list,
});

/** How many pages are looked through for one caller who may see little of them. */
const PAGES_MAX = 10;

async function list(request: DatabaseRequest, services: Services): Promise<Reply> {
  const limit = readLimit(request.query, services.limits.http.pageSizeMax);
  const isNewestFirst = readFlag(request.query, 'newest_first') ?? false;
  const found: TransactionRecord[] = [];
  let after = readPageToken(request.query['page_token']);
  let hasMore = true;
  for (let page = 0; page < PAGES_MAX && hasMore && found.length < limit; page += 1) {
    const records = await services.catalog.transactions.list({
      databaseId: request.database.id,
      limit: limit + 1,
      isNewestFirst,
      ...(after === undefined ? {} : { after }),
    });
    hasMore = records.length > limit;
    const read = takeVisible(request, records.slice(0, limit), limit - found.length);
    found.push(...read.visible);
    hasMore ||= read.isCut;
    after = read.last ?? after;
  }
  const reply: ListTransactionsReply = {
    transactions: found.map((record) => toTransaction(request, record)),
    ...(hasMore && after !== undefined ? { page_token: after } : {}),
  };
  return { kind: 'object', body: reply };
}

interface Taken {
  readonly visible: readonly TransactionRecord[];
  /** The last record that was looked at. */
  readonly last: string | undefined;
  /** There was no room for the rest. */
  readonly isCut: boolean;
}

function takeVisible(request: DatabaseRequest, records: readonly TransactionRecord[], room: number): Taken {
  const visible: TransactionRecord[] = [];
  let last: string | undefined;
  for (const record of records) {
    if (visible.length === room) return { visible, last, isCut: true };
    if (maySee(request, record)) visible.push(record);
    last = record.id;
  }
  return { visible, last, isCut: false };
}

function readPageToken(token: string | undefined): string | undefined {
  if (token === undefined || token === '') return undefined;
  if (/^[0-9a-z]{26}$/.test(token)) return token;
  throw new ServiceError('InvalidInput', 'The page token is not one of this listing.', {
    hint: 'Give the page_token of the page before, or the id of a transaction.',
  });
}

export const describeTransaction = defineDatabaseOperation({
  id: 'describe_transaction',
  path: '/v1/transaction/:id/describe',
  summary: 'Describe a committed write: who, what, which version, when',
  permission: 'see',
  body: { kind: 'json', shape: DescribeTransactionBody },
  replies: [json(TransactionReply, 'The transaction.')],
  run: describe,
});

export const alterTransaction = defineDatabaseOperation({
  id: 'alter_transaction',
  path: '/v1/transaction/:id/alter',
  summary: 'Confirm the status of a transaction; nothing else of a committed write can be altered',
  permission: 'see',
  body: { kind: 'json', shape: AlterTransactionBody },
  replies: [json(TransactionReply, 'The transaction.')],
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

/** Whoever may read a table may read what was done to it; another database's records are not there. */
export function maySee({ caller, database, prefix }: RequestFacts, record: TransactionRecord): boolean {
  const isBelow = record.path.length > prefix.length && prefix.every((name, index) => record.path[index] === name);
  return record.databaseId === database.id && isBelow && isPermitted(caller, 'read', database.name, record.path);
}

export async function requireTransaction(
  request: DatabaseRequest<{ readonly id?: string[] }>,
  services: Services,
): Promise<TransactionRecord> {
  const id = request.params['id'] ?? '';
  const given = request.body.id;
  if (given !== undefined && given.join(request.delimiter) !== id) {
    throw new ServiceError('InvalidInput', 'The id in the body is not the one in the address.');
  }
  const record = await services.catalog.transactions.find(id);
  if (record !== undefined && maySee(request, record)) return record;
  throw new ServiceError('TransactionNotFound', `The transaction ${quoteForMessage(id)} was not found.`);
}

export function toTransaction(request: RequestFacts, record: TransactionRecord): Transaction {
  return {
    transaction_id: record.id,
    operation: record.operation,
    id: toShownPath(request, record.path),
    ...(record.version === 0 ? {} : { version: record.version }),
    ...(record.branch === undefined ? {} : { branch: record.branch }),
    caller: record.caller,
    request_id: record.requestId,
    committed_at: new Date(record.committedAt).toISOString(),
  };
}
