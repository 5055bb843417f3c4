import type { TablePath } from '../model/identifier.ts';
import type {
  CreateIndexBody,
  CreateIndexReply,
  DropIndexReply,
  IndexContent,
  IndexStatsReply,
  ListIndicesReply,
} from '../wire/indexes.ts';
import type { ApiClient } from './api-client.ts';
import { callTable, readPages, tableAddress, tableOperation } from './calls.ts';
import type { State } from './history.ts';
import { RESPOND_ASYNC } from './jobs.ts';

export async function listIndexes(client: ApiClient, table: TablePath, state: State = {}): Promise<IndexContent[]> {
  const found: IndexContent[] = [];
  for await (const page of readPages<ListIndicesReply>(client, tableAddress(table, 'index/list'), state)) {
    found.push(...page.indexes);
  }
  return found;
}

/** Returns at once with the job that builds it; `waitForJob` follows it. */
export const startIndex = tableOperation<CreateIndexReply, CreateIndexBody>('create_index', RESPOND_ASYNC);

export async function indexStats(client: ApiClient, table: TablePath, name: string, state: State = {}) {
  return callTable<IndexStatsReply>(client, table, `index/${encodeURIComponent(name)}/stats`, state);
}

export async function dropIndex(client: ApiClient, table: TablePath, name: string, on: Pick<State, 'branch'> = {}) {
  return callTable<DropIndexReply>(client, table, `index/${encodeURIComponent(name)}/drop`, on);
}
