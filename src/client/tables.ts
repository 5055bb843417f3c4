import type { NamespacePath, TablePath } from '../model/identifier.ts';
import { DEFAULT_DELIMITER, nameOf, namespaceOf, pathSegment } from '../model/identifier.ts';
import type { SetManagedVersioningBody, SetManagedVersioningReply } from '../wire/history/versions.ts';
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
import type { ApiClient, BytesToSend, Call } from './api-client.ts';
import {
  RESPOND_ASYNC,
  callTable,
  collect,
  namespaceAddress,
  namespaceOperation,
  readItems,
  tableAddress,
  tableOperation,
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
export function listTables(client: ApiClient): AsyncGenerator<TablePath> {
  // No name contains a slash, so identifiers can be split at it.
  return readItems(client, '/v1/tables?delimiter=%2F', (page: ListTablesReply) =>
    page.tables.map((identifier) => toPath(identifier.split('/'))),
  );
}

/** The tables directly in a namespace. */
export function listTablesOf(client: ApiClient, namespace: NamespacePath): AsyncGenerator<TablePath> {
  const itemsOf = ({ tables }: ListTablesReply) => tables.map((name) => toPath([...namespace, name]));
  return readItems(client, namespaceAddress(namespace, 'table/list'), itemsOf);
}

function toPath([first = DEFAULT_DELIMITER, ...rest]: readonly string[]): TablePath {
  return [first, ...rest];
}

/** The server describes schemas in this form. */
type DescribedTable = Omit<DescribeTableReply, 'schema'> & { readonly schema?: SchemaJson };

export const describeTable = tableOperation<DescribedTable, DescribeTableBody>('describe');
export const tableStats = tableOperation<TableStatsReply, TableStatsBody>('stats');

interface CreateOptions extends Pick<Call, 'headers' | 'signal'> {
  readonly mode?: 'create' | 'exist_ok' | 'overwrite';
  readonly properties?: Readonly<Record<string, string>>;
}

export async function createTable(
  client: ApiClient,
  table: TablePath,
  bytes: BytesToSend,
  { mode, properties, ...call }: CreateOptions = {},
): Promise<CreateTableReply> {
  const query = { mode, properties: properties && JSON.stringify(properties) };
  return client.json(tableAddress(table, 'create'), { ...call, bytes, query });
}

export const dropTable = tableOperation<GoneTableReply>('drop');

export async function renameTable(client: ApiClient, table: TablePath, target: TablePath): Promise<RenameTableReply> {
  const body = { new_table_name: nameOf(target), new_namespace_id: namespaceOf(target) };
  return callTable(client, table, 'rename', body);
}

export const setManagedVersioning = tableOperation<SetManagedVersioningReply, SetManagedVersioningBody>(
  'managed_versioning',
);

export const describeMaintenance = tableOperation<DescribeMaintenanceReply>('maintenance/describe');

/** Returns the job at once; `waitForJob` follows it. */
export const startMaintenance = tableOperation<RunMaintenanceReply>('maintenance/run', RESPOND_ASYNC);

/** The direct children of a namespace, by default of the root. */
export function listNamespaces(client: ApiClient, parent: NamespacePath = []): AsyncGenerator<NamespacePath> {
  const itemsOf = ({ namespaces }: ListNamespacesReply) => namespaces.map((name) => [...parent, name]);
  return readItems(client, namespaceAddress(parent, 'list'), itemsOf);
}

export const createNamespace = namespaceOperation<CreateNamespaceReply, CreateNamespaceBody>('create');
export const describeNamespace = namespaceOperation<DescribeNamespaceReply>('describe');
export const dropNamespace = namespaceOperation<DropNamespaceReply, DropNamespaceBody>('drop');

export async function listIndexes(client: ApiClient, table: TablePath, state: State = {}): Promise<IndexContent[]> {
  const address = tableAddress(table, 'index/list');
  return collect(readItems(client, address, (page: ListIndicesReply) => page.indexes, state));
}

/** Returns the build's job at once; `waitForJob` follows it. */
export const startIndex = tableOperation<CreateIndexReply, CreateIndexBody>('create_index', RESPOND_ASYNC);

export async function indexStats(client: ApiClient, table: TablePath, name: string, state: State = {}) {
  return callTable<IndexStatsReply>(client, table, `index/${pathSegment(name)}/stats`, state);
}

export async function dropIndex(client: ApiClient, table: TablePath, name: string, on: Pick<State, 'branch'> = {}) {
  return callTable<DropIndexReply>(client, table, `index/${pathSegment(name)}/drop`, on);
}
