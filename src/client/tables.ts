import type { NamespacePath, TablePath } from '../model/identifier.ts';
import { DEFAULT_DELIMITER } from '../model/identifier.ts';
import type {
  GoneTableReply,
  RenameTableReply,
  CreateTableReply,
  DescribeTableBody,
  DescribeTableReply,
  ListTablesReply,
  TableStatsReply,
} from '../wire/tables.ts';
import type { DescribeMaintenanceReply, RunMaintenanceReply } from '../wire/maintenance.ts';
import type { RestoreTableReply } from '../wire/history/versions.ts';
import { namespaceAddress, tableAddress, listPages } from './calls.ts';
import type { ApiClient, BytesToSend } from './api-client.ts';
import type {
  CreateNamespaceBody,
  CreateNamespaceReply,
  DescribeNamespaceReply,
  DropNamespaceBody,
  DropNamespaceReply,
  ListNamespacesReply,
} from '../wire/namespaces.ts';

/** The tables of all namespaces, in order. */
export async function* listTables(client: ApiClient): AsyncGenerator<TablePath> {
  // No name holds a slash, so that the identifiers can be split without doubt.
  const query = { delimiter: '/' };
  for await (const page of listPages<ListTablesReply>(client, { path: '/v1/tables', query })) {
    for (const identifier of page.tables) yield toPath(identifier.split('/'));
  }
}

/** The tables directly in a namespace. */
export async function* listTablesOf(client: ApiClient, namespace: NamespacePath): AsyncGenerator<TablePath> {
  for await (const page of listPages<ListTablesReply>(client, namespaceAddress(namespace, 'table/list'))) {
    for (const name of page.tables) yield toPath([...namespace, name]);
  }
}

function toPath([first = DEFAULT_DELIMITER, ...rest]: readonly string[]): TablePath {
  return [first, ...rest];
}

export async function describeTable(
  client: ApiClient,
  table: TablePath,
  body: DescribeTableBody = {},
): Promise<DescribeTableReply> {
  return callTable(client, table, 'describe', body);
}

export async function tableStats(client: ApiClient, table: TablePath, branch?: string): Promise<TableStatsReply> {
  return callTable(client, table, 'stats', branch === undefined ? {} : { branch });
}

export interface CreateOptions {
  readonly mode?: 'create' | 'exist_ok' | 'overwrite';
  readonly properties?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Makes a table of an Arrow stream. */
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

export async function dropTable(client: ApiClient, table: TablePath): Promise<GoneTableReply> {
  return callTable(client, table, 'drop', {});
}

export async function renameTable(client: ApiClient, table: TablePath, target: TablePath): Promise<RenameTableReply> {
  const name = target.at(-1) ?? target[0];
  return callTable(client, table, 'rename', { new_table_name: name, new_namespace_id: target.slice(0, -1) });
}

export interface RestoreTo {
  readonly version: number;
  readonly branch?: string | undefined;
}

export async function restoreTable(client: ApiClient, table: TablePath, to: RestoreTo): Promise<RestoreTableReply> {
  return callTable(client, table, 'restore', to);
}

export async function describeMaintenance(client: ApiClient, table: TablePath): Promise<DescribeMaintenanceReply> {
  return callTable(client, table, 'maintenance/describe', {});
}

/** Answers at once with the job; `waitForJob` follows it. */
export async function startMaintenance(client: ApiClient, table: TablePath): Promise<RunMaintenanceReply> {
  const { path, query } = tableAddress(table, 'maintenance/run');
  return client.json(path, { query, json: {}, headers: { prefer: 'respond-async' } });
}

/** Any operation of a table with a JSON body. */
export async function callTable<Reply>(
  client: ApiClient,
  table: TablePath,
  action: string,
  json: object,
): Promise<Reply> {
  const { path, query } = tableAddress(table, action);
  return client.json(path, { query, json });
}

/** The namespaces directly below one, the root when it is empty. */
export async function* listNamespaces(client: ApiClient, parent: NamespacePath = []): AsyncGenerator<NamespacePath> {
  for await (const page of listPages<ListNamespacesReply>(client, namespaceAddress(parent, 'list'))) {
    for (const name of page.namespaces) yield [...parent, name];
  }
}

export async function createNamespace(
  client: ApiClient,
  namespace: NamespacePath,
  body: CreateNamespaceBody = {},
): Promise<CreateNamespaceReply> {
  return callNamespace(client, namespace, 'create', body);
}

export async function describeNamespace(client: ApiClient, namespace: NamespacePath): Promise<DescribeNamespaceReply> {
  return callNamespace(client, namespace, 'describe', {});
}

export async function dropNamespace(
  client: ApiClient,
  namespace: NamespacePath,
  body: DropNamespaceBody = {},
): Promise<DropNamespaceReply> {
  return callNamespace(client, namespace, 'drop', body);
}

async function callNamespace<Reply>(
  client: ApiClient,
  namespace: NamespacePath,
  action: string,
  json: object,
): Promise<Reply> {
  const { path, query } = namespaceAddress(namespace, action);
  return client.json(path, { query, json });
}
