import type { TransactionRecord } from '../../catalog/catalog.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { guardProperties } from '../../guard/metadata.ts';
import { isPermitted } from '../../model/access.ts';
import { showCommit, toCommitFields } from '../../model/events/commit.ts';
import type { Commit } from '../../model/events/commit.ts';
import { formatPath, quoteForMessage } from '../../model/identifier.ts';
import type { NamespacePath } from '../../model/identifier.ts';
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
    const visible: Commit[] = [];
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
        const shown = show(request, record);
        if (shown !== undefined) visible.push(shown);
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
    replyWithTransaction(request, (await requireTransaction(request, services)).shown, services),
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
    const { record, shown } = await requireTransaction(request, services);
    const change = readActions(request.body.actions);
    if (change === undefined) return replyWithTransaction(request, shown, services);
    if (!isPermitted(request.caller, 'write', request.database.name, record.path)) throw notPermitted('write');
    const properties = await services.catalog.transactions.alter(record, toCommitEntry(request), (present) => {
      const changed = change(present);
      guardProperties(changed, 'properties', services.limits.metadata);
      return changed;
    });
    return replyWithTransaction(request, shown, services, properties);
  },
});

type Reader = Pick<RequestFacts, 'caller' | 'database' | 'prefix'>;

/** A caller who may read a table may read its records. */
export function mayRead(request: Reader, path: NamespacePath): boolean {
  const { caller, database } = request;
  return isBelowPrefix(request, path) && isPermitted(caller, 'read', database.name, path);
}

/** Hides records of other databases. */
function show(request: Reader, record: TransactionRecord): Commit | undefined {
  if (record.databaseId !== request.database.id) return undefined;
  return showCommit(record, (path) => mayRead(request, path));
}

async function requireTransaction(
  request: DatabaseRequest<{ readonly id?: string[] }>,
  services: Services,
): Promise<{ readonly record: TransactionRecord; readonly shown: Commit }> {
  const id = request.params['id'] ?? '';
  const given = request.body.id;
  if (given !== undefined && given.join(request.delimiter) !== id) {
    throw invalidInput('The id in the body differs from the id in the URL.');
  }
  const record = await services.catalog.transactions.find(id);
  const shown = record && show(request, record);
  if (record !== undefined && shown !== undefined) return { record, shown };
  throw new ServiceError('TransactionNotFound', `The transaction ${quoteForMessage(id)} was not found.`);
}

async function replyWithTransaction(
  request: RequestFacts,
  commit: Commit,
  services: Services,
  noted?: Readonly<Record<string, string>>,
): Promise<Reply> {
  const names = await services.catalog.callerNames([commit.caller]);
  const { id, renamed_from: former, version, ...rest } = toTransaction(request, commit, names);
  const properties = {
    ...(noted ?? (await services.catalog.transactions.findProperties(commit.id))),
    ...rest,
    id: formatPath(id, request.delimiter),
    renamed_from: former && formatPath(former, request.delimiter),
    version: version === undefined ? undefined : String(version),
  };
  return objectReply<typeof TransactionReply>({ status: 'Succeeded', properties });
}

export function toTransaction(
  request: Pick<RequestFacts, 'prefix'>,
  commit: Commit,
  names: ReadonlyMap<string, string>,
) {
  const { path, formerPath } = commit;
  const former = formerPath && toShownPath(request, formerPath);
  return toCommitFields({ ...commit, path: toShownPath(request, path), formerPath: former }, names);
}
