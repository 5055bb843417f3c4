import type { TransactionRecord } from '../../catalog/catalog.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { guardProperties } from '../../guard/metadata.ts';
import { isPermitted } from '../../model/access.ts';
import { toCommitFields } from '../../model/events/commit.ts';
import { formatPath, quoteForMessage } from '../../model/identifier.ts';
import { notPermitted } from '../../model/refusals.ts';
import {
  AlterTransactionBody,
  ListTransactionsQuery,
  ListTransactionsReply,
  TransactionReply,
} from '../../wire/history/transactions.ts';
import { EmptyBody } from '../../wire/shapes.ts';
import { defineDatabaseOperation, isBelowPrefix, json, objectReply, toShownPath } from '../operation.ts';
import type { DatabaseRequest, Reply, RequestFacts } from '../operation.ts';
import type { Services } from '../services.ts';
import { readIdToken, readLimit } from '../shared/pages.ts';
import { readFlag } from '../shared/parameters.ts';
import { toCommitEntry } from '../shared/record-commit.ts';
import { readActions } from './transaction-actions.ts';

/** How many pages are searched for a caller who may see few of their records. */
const PAGES_MAX = 10;

export const listTransactions = defineDatabaseOperation({
  id: 'list_transactions',
  methods: ['GET'],
  path: '/v1/transaction/list',
  summary: 'List committed writes, in commit order or newest first: the audit log',
  permission: 'see',
  query: ListTransactionsQuery,
  replies: [json(ListTransactionsReply, 'A page of transactions.')],
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
    const names = await services.catalog.callerNames(visible.map(({ caller }) => caller));
    return objectReply<typeof ListTransactionsReply>({
      transactions: visible.map((record) => toTransaction(request, record, names)),
      page_token: hasMore ? after : undefined,
    });
  },
});

export const describeTransaction = defineDatabaseOperation({
  id: 'describe_transaction',
  path: '/v1/transaction/:id/describe',
  summary: 'Describe a committed write: who made it, when, and which version it created',
  permission: 'see',
  body: { kind: 'json', shape: EmptyBody },
  replies: [json(TransactionReply, 'The transaction.')],
  run: async (request, services) =>
    replyWithTransaction(request, await requireTransaction(request, services), services),
});

export const alterTransaction = defineDatabaseOperation({
  id: 'alter_transaction',
  path: '/v1/transaction/:id/alter',
  summary: 'Set and remove properties of a committed transaction, or confirm its status',
  permission: 'write',
  authorizesTables: true,
  body: { kind: 'json', shape: AlterTransactionBody },
  replies: [json(TransactionReply, 'The transaction.')],
  statuses: [409],
  async run(request, services) {
    const record = await requireTransaction(request, services);
    const change = readActions(request.body.actions);
    if (change === undefined) return replyWithTransaction(request, record, services);
    if (!isPermitted(request.caller, 'write', request.database.name, record.path)) throw notPermitted('write');
    const properties = await services.catalog.transactions.alter(record, toCommitEntry(request), (present) => {
      const changed = change(present);
      guardProperties(changed, 'properties', services.limits.metadata);
      return changed;
    });
    return replyWithTransaction(request, record, services, properties);
  },
});

/** A caller who may read a table may read its records; those of other databases are hidden. */
export function maySee(
  request: Pick<RequestFacts, 'caller' | 'database' | 'prefix'>,
  record: TransactionRecord,
): boolean {
  const { caller, database } = request;
  const isShown = record.databaseId === database.id && isBelowPrefix(request, record.path);
  return isShown && isPermitted(caller, 'read', database.name, record.path);
}

async function requireTransaction(
  request: DatabaseRequest<{ readonly id?: string[] }>,
  services: Services,
): Promise<TransactionRecord> {
  const id = request.params['id'] ?? '';
  const given = request.body.id;
  if (given !== undefined && given.join(request.delimiter) !== id) {
    throw invalidInput('The id in the body differs from the id in the URL.');
  }
  const record = await services.catalog.transactions.find(id);
  if (record !== undefined && maySee(request, record)) return record;
  throw new ServiceError('TransactionNotFound', `The transaction ${quoteForMessage(id)} was not found.`);
}

async function replyWithTransaction(
  request: RequestFacts,
  record: TransactionRecord,
  services: Services,
  noted?: Readonly<Record<string, string>>,
): Promise<Reply> {
  const names = await services.catalog.callerNames([record.caller]);
  const { id, version, ...rest } = toTransaction(request, record, names);
  const properties = {
    ...(noted ?? (await services.catalog.transactions.findProperties(record.id))),
    ...rest,
    id: formatPath(id, request.delimiter),
    version: version === undefined ? undefined : String(version),
  };
  return objectReply<typeof TransactionReply>({ status: 'Succeeded', properties });
}

export function toTransaction(
  request: Pick<RequestFacts, 'prefix'>,
  record: TransactionRecord,
  names: ReadonlyMap<string, string>,
) {
  return toCommitFields({ ...record, path: toShownPath(request, record.path) }, names);
}
