import type { TablePath } from '../model/identifier.ts';
import type {
  BranchShape,
  CreateBranchBody,
  ListBranchesReply,
  ListTagsReply,
  TagChangeBody,
  TagShape,
  TagVersionReply,
} from '../wire/history/refs.ts';
import type { ListTransactionsReply, Transaction } from '../wire/history/transactions.ts';
import type {
  ChangeReply,
  ListVersionsReply,
  RestoreTableBody,
  RestoreTableReply,
  TableVersionShape,
} from '../wire/history/versions.ts';
import type { ApiClient } from './api-client.ts';
import { ClientError } from './client-error.ts';
import { collect, readItems, tableAddress, tableOperation } from './calls.ts';

/** A state of a table; the latest version of the main branch if both are absent. */
export interface State {
  readonly version?: number;
  readonly branch?: string;
}

/** Latest first, up to `limit`. */
export async function listVersions(
  client: ApiClient,
  table: TablePath,
  { limit, ...branch }: Pick<State, 'branch'> & { readonly limit: number },
): Promise<TableVersionShape[]> {
  // Pages have the server's default size: a larger limit could be refused.
  const body = { descending: true, ...branch };
  const address = tableAddress(table, 'version/list');
  const found: TableVersionShape[] = [];
  for await (const version of readItems(client, address, (page: ListVersionsReply) => page.versions, body)) {
    found.push(version);
    if (found.length >= limit) break;
  }
  return found;
}

export const restoreTable = tableOperation<RestoreTableReply, RestoreTableBody>('restore');

export async function listTags(client: ApiClient, table: TablePath): Promise<Readonly<Record<string, TagShape>>> {
  const address = tableAddress(table, 'tags/list');
  const tags = readItems(client, address, (page: ListTagsReply) => Object.entries(page.tags), {});
  return Object.fromEntries(await collect(tags));
}

export const tagVersion = tableOperation<TagVersionReply, { readonly tag: string }>('tags/version');
export const createTag = tableOperation<ChangeReply, TagChangeBody>('tags/create');
export const updateTag = tableOperation<ChangeReply, TagChangeBody>('tags/update');
export const deleteTag = tableOperation<ChangeReply, { readonly tag: string }>('tags/delete');

export async function listBranches(
  client: ApiClient,
  table: TablePath,
): Promise<Readonly<Record<string, BranchShape>>> {
  const address = tableAddress(table, 'branches/list');
  const branches = readItems(client, address, (page: ListBranchesReply) => Object.entries(page.branches), {});
  return Object.fromEntries(await collect(branches));
}

export const createBranch = tableOperation<ChangeReply, CreateBranchBody>('branches/create');
export const deleteBranch = tableOperation<ChangeReply, { readonly name: string }>('branches/delete');

/** Versions older than these pages of the feed show no operation. */
const PAGES_MAX = 5;
const PAGE_RECORDS = 1000;
const CLOCK_SLACK_MILLISECONDS = 1000;

/**
 * The transactions of this server that created these versions, which must be listed latest first. Empty for callers
 * that may read the table but not the feed.
 */
export async function readCommits(
  client: ApiClient,
  table: TablePath,
  { versions, branch }: { readonly versions: readonly TableVersionShape[]; readonly branch: string | undefined },
): Promise<ReadonlyMap<number, Transaction>> {
  const found = new Map<number, Transaction>();
  const [newest, oldest] = [versions[0]?.timestamp_millis ?? 0, versions.at(-1)?.timestamp_millis ?? 0];
  let before: string | undefined = firstIdAt(newest + CLOCK_SLACK_MILLISECONDS);
  for (let page = 0; page < PAGES_MAX && before !== undefined; page += 1) {
    const reply = await readFeed(client, before);
    for (const record of reply.transactions) {
      if (isCommitOf(record, table, branch) && record.version !== undefined) found.set(record.version, record);
    }
    const last = reply.transactions.at(-1);
    const isPast = last !== undefined && Date.parse(last.committed_at) < oldest;
    before = isPast ? undefined : reply.page_token;
  }
  return found;
}

async function readFeed(client: ApiClient, before: string): Promise<ListTransactionsReply> {
  const query = { limit: PAGE_RECORDS, newest_first: true, page_token: before };
  try {
    return await client.json<ListTransactionsReply>('/v1/transaction/list', { query });
  } catch (error) {
    if (error instanceof ClientError && (error.status === 403 || error.status === 404)) return { transactions: [] };
    throw error;
  }
}

/** Tags and branches are recorded with a version that they refer to but did not create. */
function isCommitOf({ id, branch, operation }: Transaction, table: TablePath, wanted: string | undefined): boolean {
  return branch === wanted && id.join('/') === table.join('/') && !/_(?:tag|branch|versions)$/.test(operation);
}

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_DIGITS = 10;
const ID_DIGITS = 26;

/** Ids sort by time, so the feed can start at any time. */
function firstIdAt(milliseconds: number): string {
  let rest = Math.max(0, Math.trunc(milliseconds));
  let digits = '';
  for (let count = 0; count < TIME_DIGITS; count += 1) {
    digits = DIGITS.charAt(rest % 32) + digits;
    rest = Math.floor(rest / 32);
  }
  return digits.padEnd(ID_DIGITS, '0');
}

const WORDS: Readonly<Record<string, string>> = {
  create_table: 'created',
  overwrite_table: 'overwritten',
  clone_table: 'cloned',
  insert_into_table: 'rows added',
  merge_insert_into_table: 'rows merged',
  update_table: 'rows updated',
  delete_from_table: 'rows deleted',
  update_field_metadata: 'field metadata changed',
  update_table_schema_metadata: 'schema metadata changed',
  create_table_index: 'index built',
  drop_table_index: 'index dropped',
  restore_table: 'restored',
  alter_table_add_columns: 'columns added',
  alter_table_alter_columns: 'columns changed',
  alter_table_drop_columns: 'columns dropped',
  create_materialized_view: 'view created',
  refresh_materialized_view: 'view refreshed',
  maintain_table: 'maintained',
};

export function operationWords({ operation }: Transaction): string {
  return WORDS[operation] ?? operation.replaceAll('_', ' ');
}
