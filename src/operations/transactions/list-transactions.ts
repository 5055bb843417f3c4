import type { TransactionRecord } from '../../catalog/catalog.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { ListTransactionsQuery, ListTransactionsReply } from '../../wire/transactions.ts';
import { defineDatabaseOperation } from '../operation.ts';
import type { DatabaseRequest, Reply } from '../operation.ts';
import { readLimit } from '../page-limit.ts';
import { readFlag } from '../query-flags.ts';
import type { Services } from '../services.ts';
import { maySee, toTransaction } from './shown-transaction.ts';

export const listTransactions = defineDatabaseOperation({
  id: 'list_transactions',
  methods: ['GET'],
  path: '/v1/transaction/list',
  summary:
    'List the committed writes that the caller may see, in the order of commits or the newest first: the audit feed',
  permission: 'see',
  body: { kind: 'none' },
  query: ListTransactionsQuery,
  replies: [{ mediaType: 'application/json', shape: ListTransactionsReply, description: 'A page of the feed.' }],
  statuses: [],
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
