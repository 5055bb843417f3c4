import type { ApiClient } from '../../../src/client/api-client.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import type { ListTransactionsReply, Transaction } from '../../../src/wire/transactions.ts';

/** Pages of the feed that are looked through; older versions then show no operation. */
const PAGES_MAX = 5;
const PAGE_RECORDS = 1000;
const CLOCK_SLACK_MILLISECONDS = 1000;

/** Which operation made which version, as far as this server made it: by the version's number. */
export async function readCommits(
  client: ApiClient,
  table: TablePath,
  { since, branch }: { readonly since: number; readonly branch: string | undefined },
): Promise<ReadonlyMap<number, Transaction>> {
  const found = new Map<number, Transaction>();
  let after: string | undefined = firstIdAt(since - CLOCK_SLACK_MILLISECONDS);
  for (let page = 0; page < PAGES_MAX && after !== undefined; page += 1) {
    const query = { limit: PAGE_RECORDS, page_token: after };
    const reply: ListTransactionsReply = await client.json('/v1/transaction/list', { query });
    for (const record of reply.transactions) {
      if (
        record.version === undefined ||
        record.branch !== branch ||
        /_(?:tag|branch|versions)$/.test(record.operation)
      ) {
        continue;
      }
      if (record.id.join('/') === table.join('/')) found.set(record.version, record);
    }
    after = reply.page_token;
  }
  return found;
}

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_DIGITS = 10;
const ID_DIGITS = 26;

/** Ids sort by their time, so that the feed can be entered at a moment. */
function firstIdAt(milliseconds: number): string {
  let rest = Math.max(0, Math.trunc(milliseconds));
  let digits = '';
  for (let count = 0; count < TIME_DIGITS; count += 1) {
    digits = DIGITS.charAt(rest % 32) + digits;
    rest = Math.floor(rest / 32);
  }
  return digits.padEnd(ID_DIGITS, '0');
}
