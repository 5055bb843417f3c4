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
import { collect, readItems, tableAddress, tableOperation } from './calls.ts';

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
