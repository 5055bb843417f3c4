import type { ApiClient } from '../../../../src/client/api-client.ts';
import type { TablePath } from '../../../../src/model/identifier.ts';
import type { ListTransactionsReply, Transaction } from '../../../../src/wire/history/transactions.ts';

/** Versions beyond these pages of the feed show no operation. */
const PAGES_MAX = 5;
const PAGE_RECORDS = 1000;
const CLOCK_SLACK_MILLISECONDS = 1000;

interface Span {
  readonly oldest: number;
  readonly newest: number;
  readonly branch: string | undefined;
}

/** The operations of this server by version. */
export async function readCommits(
  client: ApiClient,
  table: TablePath,
  { oldest, newest, branch }: Span,
): Promise<ReadonlyMap<number, Transaction>> {
  const found = new Map<number, Transaction>();
  let before: string | undefined = firstIdAt(newest + CLOCK_SLACK_MILLISECONDS);
  for (let page = 0; page < PAGES_MAX && before !== undefined; page += 1) {
    const query = { limit: PAGE_RECORDS, newest_first: true, page_token: before };
    const reply: ListTransactionsReply = await client.json('/v1/transaction/list', { query });
    for (const record of reply.transactions) {
      if (isCommitOf(record, table, branch) && record.version !== undefined) found.set(record.version, record);
    }
    const last = reply.transactions.at(-1);
    const isPast = last !== undefined && Date.parse(last.committed_at) < oldest;
    before = isPast ? undefined : reply.page_token;
  }
  return found;
}

/** Tags and branches are recorded with the version that they refer to, and did not create. */
function isCommitOf({ id, branch, operation }: Transaction, table: TablePath, wanted: string | undefined): boolean {
  return branch === wanted && id.join('/') === table.join('/') && !/_(?:tag|branch|versions)$/.test(operation);
}

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_DIGITS = 10;
const ID_DIGITS = 26;

/** Ids sort by time: the feed can start at any moment. */
function firstIdAt(milliseconds: number): string {
  let rest = Math.max(0, Math.trunc(milliseconds));
  let digits = '';
  for (let count = 0; count < TIME_DIGITS; count += 1) {
    digits = DIGITS.charAt(rest % 32) + digits;
    rest = Math.floor(rest / 32);
  }
  return digits.padEnd(ID_DIGITS, '0');
}
