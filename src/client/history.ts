import type { TablePath } from '../model/identifier.ts';
import type { BranchShape, CreateBranchBody, ListBranchesReply } from '../wire/history/branches.ts';
import type { ListTagsReply, TagChangeBody, TagShape, TagVersionReply } from '../wire/history/tags.ts';
import type {
  ChangeReply,
  ListVersionsReply,
  RestoreTableBody,
  RestoreTableReply,
  TableVersionShape,
} from '../wire/history/versions.ts';
import type { ApiClient } from './api-client.ts';
import { readPages, tableAddress, tableOperation } from './calls.ts';

/** Which state of a table is meant; the latest of the main branch when both are absent. */
export interface State {
  readonly version?: number;
  readonly branch?: string;
}

/** The latest first, at most `limit` of them. */
export async function listVersions(
  client: ApiClient,
  table: TablePath,
  { limit, ...branch }: Pick<State, 'branch'> & { readonly limit: number },
): Promise<TableVersionShape[]> {
  // Pages have the server's default size: a greater limit could be refused.
  const body = { descending: true, ...branch };
  const found: TableVersionShape[] = [];
  for await (const page of readPages<ListVersionsReply>(client, tableAddress(table, 'version/list'), body)) {
    found.push(...page.versions);
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}

export const restoreTable = tableOperation<RestoreTableReply, RestoreTableBody>('restore');

export async function listTags(client: ApiClient, table: TablePath): Promise<Readonly<Record<string, TagShape>>> {
  const address = tableAddress(table, 'tags/list');
  const found: Record<string, TagShape> = {};
  for await (const { tags } of readPages<ListTagsReply>(client, address, {})) Object.assign(found, tags);
  return found;
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
  const found: Record<string, BranchShape> = {};
  for await (const { branches } of readPages<ListBranchesReply>(client, address, {})) Object.assign(found, branches);
  return found;
}

export const createBranch = tableOperation<ChangeReply, CreateBranchBody>('branches/create');
export const deleteBranch = tableOperation<ChangeReply, { readonly name: string }>('branches/delete');
