import type { TablePath } from '../model/identifier.ts';
import type {
  CreateIndexBody,
  CreateIndexReply,
  DropIndexReply,
  IndexContent,
  IndexStatsReply,
  ListIndicesReply,
} from '../wire/indexes.ts';
import { tableAddress, postPages } from './calls.ts';
import type { ApiClient } from './api-client.ts';
import { callTable } from './tables.ts';

/** Which state of a table is asked about; the latest of the main branch when both are absent. */
export interface State {
  readonly version?: number;
  readonly branch?: string;
}

export async function listIndexes(client: ApiClient, table: TablePath, state: State = {}): Promise<IndexContent[]> {
  const found: IndexContent[] = [];
  for await (const page of postPages<ListIndicesReply>(client, tableAddress(table, 'index/list'), state)) {
    found.push(...page.indexes);
  }
  return found;
}

/** Answers at once with the job that builds it; `waitForJob` follows it. */
export async function startIndex(
  client: ApiClient,
  table: TablePath,
  body: CreateIndexBody,
): Promise<CreateIndexReply> {
  const { path, query } = tableAddress(table, 'create_index');
  return client.json(path, { query, json: body, headers: { prefer: 'respond-async' } });
}

export async function indexStats(
  client: ApiClient,
  table: TablePath,
  name: string,
  state: State = {},
): Promise<IndexStatsReply> {
  return callTable(client, table, `index/${encodeURIComponent(name)}/stats`, state);
}

export async function dropIndex(
  client: ApiClient,
  table: TablePath,
  name: string,
  state: Pick<State, 'branch'> = {},
): Promise<DropIndexReply> {
  return callTable(client, table, `index/${encodeURIComponent(name)}/drop`, state);
}
