import type { NamespacePath, TablePath } from '../model/identifier.ts';
import type { AddColumnsBody } from '../wire/columns.ts';
import type { GoneTableReply } from '../wire/tables.ts';
import type { CreateViewBody, DescribeViewReply, ListViewsReply } from '../wire/views.ts';
import type { ApiClient } from './api-client.ts';
import { namespaceAddress, readItems, tableOperation, viewAddress } from './calls.ts';

interface StartedJob {
  readonly job_id: string;
}

interface Changed {
  readonly version: number;
}

export const addColumns = tableOperation<Changed, AddColumnsBody>('add_columns');
export const startBackfill = tableOperation<
  StartedJob,
  { readonly column: string; readonly where?: string; readonly branch?: string }
>('backfill_column');

export async function createView(
  client: ApiClient,
  view: TablePath,
  body: Omit<CreateViewBody, 'output_schema'>,
): Promise<Changed & Partial<StartedJob>> {
  return client.json(viewAddress(view, 'create'), { json: body });
}

export async function startRefresh(
  client: ApiClient,
  view: TablePath,
  body: { readonly src_version?: number } = {},
): Promise<StartedJob> {
  return client.json(viewAddress(view, 'refresh'), { json: body });
}

export async function describeView(client: ApiClient, view: TablePath): Promise<DescribeViewReply> {
  return client.json(viewAddress(view, 'describe'), { json: {} });
}

export async function dropView(client: ApiClient, view: TablePath): Promise<GoneTableReply> {
  return client.json(viewAddress(view, 'drop'), { json: {} });
}

/** In a namespace and everything below it. */
export function listViews(client: ApiClient, namespace: NamespacePath) {
  return readItems(client, namespaceAddress(namespace, 'materialized_view/list'), ({ views }: ListViewsReply) => views);
}
