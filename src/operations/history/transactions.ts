import type { TransactionRecord } from '../../catalog/catalog.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { isPermitted } from '../../model/access.ts';
import { formatPath, quoteForMessage } from '../../model/identifier.ts';
import {
  AlterTransactionBody,
  ListTransactionsQuery,
  ListTransactionsReply,
  TransactionReply,
} from '../../wire/history/transactions.ts';
import { EmptyBody } from '../../wire/shapes.ts';
import { defineDatabaseOperation, json, objectReply, toShownPath } from '../operation.ts';
import type { DatabaseRequest, Reply, RequestFacts } from '../operation.ts';
import type { Services } from '../services.ts';
import { readIdToken, readLimit } from '../shared/pages.ts';
import { readFlag, readWord } from '../shared/parameters.ts';

/** How many pages are searched for a caller who may see few of their records. */
const PAGES_MAX = 10;

export const listTransactions = defineDatabaseOperation({
  id: 'list_transactions',
  methods: ['GET'],
  path: '/v1/transaction/list',
  summary:
    'List the committed writes that the caller may see, in the order of commits or the newest first: the audit feed',
  permission: 'see',
  query: ListTransactionsQuery,
  replies: [json(ListTransactionsReply, 'A page of the feed.')],
  async run(request, services) {
    const { query, database } = request;
    const limit = readLimit(query, services.limits.http.pageSizeMax);
    const isNewestFirst = readFlag(query, 'newest_first') ?? false;
    const visible: TransactionRecord[] = [];
    let after = readIdToken(query['page_token']);
    let hasMore = true;
    for (let page = 0; page < PAGES_MAX && hasMore && visible.length < limit; page += 1) {
      const search = { databaseId: database.id, after, limit: limit + 1, isNewestFirst };
      const records = await services.catalog.transactions.list(search);
      hasMore = records.length > limit;
      for (const record of records.slice(0, limit)) {
        if (visible.length === limit) {
          hasMore = true;
          break;
        }
        if (maySee(request, record)) visible.push(record);
        after = record.id;
      }
    }
    return objectReply<typeof ListTransactionsReply>({
      transactions: visible.map((record) => toTransaction(request, record)),
      page_token: hasMore ? after : undefined,
    });
  },
});

export const describeTransaction = defineDatabaseOperation({
  id: 'describe_transaction',
  path: '/v1/transaction/:id/describe',
  summary: 'Describe a committed write: who, what, which version, when',
  permission: 'see',
  body: { kind: 'json', shape: EmptyBody },
  replies: [json(TransactionReply, 'The transaction.')],
  run: async (request, services) => replyWithTransaction(request, await requireTransaction(request, services)),
});

export const alterTransaction = defineDatabaseOperation({
  id: 'alter_transaction',
  path: '/v1/transaction/:id/alter',
  summary: 'Confirm the status of a transaction; nothing else of a committed write can be altered',
  permission: 'see',
  body: { kind: 'json', shape: AlterTransactionBody },
  replies: [json(TransactionReply, 'The transaction.')],
  async run(request, services) {
    const record = await requireTransaction(request, services);
    for (const action of request.body.actions) requireConfirmation(action);
    return replyWithTransaction(request, record);
  },
});

const STATUSES = ['Succeeded', 'Queued', 'Running', 'Failed', 'Canceled'] as const;

/** A recorded transaction is committed: it can no longer be started, cancelled or given properties. */
function requireConfirmation(action: AlterTransactionBody['actions'][number]): void {
  const { setStatusAction: change, setPropertyAction, unsetPropertyAction } = action;
  const given = [change, setPropertyAction, unsetPropertyAction].filter((part) => part !== undefined);
  if (given.length !== 1) throw invalidInput('Each action must be exactly one of the three.');
  if (change === undefined) throw new ServiceError('Unsupported', 'The properties of a transaction cannot be altered.');
  if (readWord('status', change.status ?? '', STATUSES) === 'Succeeded') return;
  throw new ServiceError('Unsupported', 'The transaction is committed; its status cannot be altered any more.');
}

/** A caller who may read a table may read its records; those of other databases are hidden. */
function maySee({ caller, database, prefix }: RequestFacts, record: TransactionRecord): boolean {
  const isBelow = record.path.length > prefix.length && prefix.every((name, index) => record.path[index] === name);
  return record.databaseId === database.id && isBelow && isPermitted(caller, 'read', database.name, record.path);
}

async function requireTransaction(
  request: DatabaseRequest<{ readonly id?: string[] }>,
  services: Services,
): Promise<TransactionRecord> {
  const id = request.params['id'] ?? '';
  const given = request.body.id;
  if (given !== undefined && given.join(request.delimiter) !== id) {
    throw invalidInput('The id in the body is not the one in the address.');
  }
  const record = await services.catalog.transactions.find(id);
  if (record !== undefined && maySee(request, record)) return record;
  throw new ServiceError('TransactionNotFound', `The transaction ${quoteForMessage(id)} was not found.`);
}

function replyWithTransaction(request: RequestFacts, record: TransactionRecord): Reply {
  const { id, version, ...rest } = toTransaction(request, record);
  const properties = {
    ...rest,
    id: formatPath(id, request.delimiter),
    version: version === undefined ? undefined : String(version),
  };
  return objectReply<typeof TransactionReply>({ status: 'Succeeded', properties });
}

function toTransaction(request: RequestFacts, record: TransactionRecord) {
  return {
    transaction_id: record.id,
    operation: record.operation,
    id: toShownPath(request, record.path),
    version: record.version === 0 ? undefined : record.version,
    branch: record.branch,
    caller: record.caller,
    request_id: record.requestId,
    committed_at: new Date(record.committedAt).toISOString(),
  };
}
