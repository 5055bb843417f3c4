import type { NamespacePath, TablePath } from '../model/identifier.ts';
import { DEFAULT_DELIMITER } from '../model/identifier.ts';
import type { DescribeMaintenanceReply, RunMaintenanceReply } from '../wire/maintenance.ts';
import type {
  CreateNamespaceBody,
  CreateNamespaceReply,
  DescribeNamespaceReply,
  DropNamespaceBody,
  DropNamespaceReply,
  ListNamespacesReply,
} from '../wire/namespaces.ts';
import type { SchemaJson } from '../wire/schema/schema-json.ts';
import type {
  CreateTableReply,
  DescribeTableBody,
  DescribeTableReply,
  GoneTableReply,
  ListTablesReply,
  RenameTableReply,
  TableStatsBody,
  TableStatsReply,
} from '../wire/tables.ts';
import type { ApiClient, BytesToSend } from './api-client.ts';
import {
  callTable,
  namespaceAddress,
  namespaceOperation,
  readPages,
  tableAddress,
  tableOperation,
  RESPOND_ASYNC,
} from './calls.ts';
import type {
  CreateIndexBody,
  CreateIndexReply,
  DropIndexReply,
  IndexContent,
  IndexStatsReply,
  ListIndicesReply,
} from '../wire/indexes.ts';
import type { State } from './history.ts';

/** The tables of all namespaces, in order. */
export async function* listTables(client: ApiClient): AsyncGenerator<TablePath> {
  // No name contains a slash, so the identifiers can be split at it.
  const query = { delimiter: '/' };
  for await (const page of readPages<ListTablesReply>(client, { path: '/v1/tables', query })) {
    for (const identifier of page.tables) yield toPath(identifier.split('/'));
  }
}

/** The tables directly in a namespace. */
export async function* listTablesOf(client: ApiClient, namespace: NamespacePath): AsyncGenerator<TablePath> {
  for await (const page of readPages<ListTablesReply>(client, namespaceAddress(namespace, 'table/list'))) {
    for (const name of page.tables) yield toPath([...namespace, name]);
  }
}

function toPath([first = DEFAULT_DELIMITER, ...rest]: readonly string[]): TablePath {
  return [first, ...rest];
}

/** The server describes a schema in this form. */
type DescribedTable = Omit<DescribeTableReply, 'schema'> & { readonly schema?: SchemaJson };

export const describeTable = tableOperation<DescribedTable, DescribeTableBody>('describe');
export const tableStats = tableOperation<TableStatsReply, TableStatsBody>('stats');

export interface CreateOptions {
  readonly mode?: 'create' | 'exist_ok' | 'overwrite';
  readonly properties?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Creates a table from an Arrow stream. */
export async function createTable(
  client: ApiClient,
  table: TablePath,
  bytes: BytesToSend,
  { mode, properties, signal }: CreateOptions = {},
): Promise<CreateTableReply> {
  const { path, query } = tableAddress(table, 'create');
  const given = { mode, properties: properties === undefined ? undefined : JSON.stringify(properties) };
  return client.json(path, { query: { ...query, ...given }, bytes, signal });
}

export const dropTable = tableOperation<GoneTableReply>('drop');

export async function renameTable(client: ApiClient, table: TablePath, target: TablePath): Promise<RenameTableReply> {
  const name = target.at(-1) ?? target[0];
  return callTable(client, table, 'rename', { new_table_name: name, new_namespace_id: target.slice(0, -1) });
}

export const describeMaintenance = tableOperation<DescribeMaintenanceReply>('maintenance/describe');

/** Returns at once with the job; `waitForJob` follows it. */
export const startMaintenance = tableOperation<RunMaintenanceReply>('maintenance/run', RESPOND_ASYNC);

/** The namespaces directly below one, the root when it is empty. */
export async function* listNamespaces(client: ApiClient, parent: NamespacePath = []): AsyncGenerator<NamespacePath> {
  for await (const page of readPages<ListNamespacesReply>(client, namespaceAddress(parent, 'list'))) {
    for (const name of page.namespaces) yield [...parent, name];
  }
}

export const createNamespace = namespaceOperation<CreateNamespaceReply, CreateNamespaceBody>('create');
export const describeNamespace = namespaceOperation<DescribeNamespaceReply>('describe');
export const dropNamespace = namespaceOperation<DropNamespaceReply, DropNamespaceBody>('drop');

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
