import type { TablePath } from '../model/identifier.ts';
import type { BranchShape, CreateBranchBody, ListBranchesReply } from '../wire/history/branches.ts';
import type { ListTagsReply, TagChangeBody, TagShape, TagVersionReply } from '../wire/history/tags.ts';
import type { ChangeReply, ListVersionsReply, TableVersionShape } from '../wire/history/versions.ts';
import { tableAddress, postPages } from './calls.ts';
import type { ApiClient } from './api-client.ts';
import { callTable } from './tables.ts';

export interface VersionsWanted {
  readonly branch?: string;
  /** How many at most, the latest first. */
  readonly limit: number;
}

export async function listVersions(
  client: ApiClient,
  table: TablePath,
  { branch, limit }: VersionsWanted,
): Promise<TableVersionShape[]> {
  // The server's own page: a greater one would be refused.
  const body = { descending: true, ...(branch === undefined ? {} : { branch }) };
  const found: TableVersionShape[] = [];
  for await (const page of postPages<ListVersionsReply>(client, tableAddress(table, 'version/list'), body)) {
    found.push(...page.versions);
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}

export async function listTags(client: ApiClient, table: TablePath): Promise<Readonly<Record<string, TagShape>>> {
  const found: Record<string, TagShape> = {};
  for await (const page of postPages<ListTagsReply>(client, tableAddress(table, 'tags/list'), {})) {
    Object.assign(found, page.tags);
  }
  return found;
}

export async function tagVersion(client: ApiClient, table: TablePath, tag: string): Promise<TagVersionReply> {
  return callTable(client, table, 'tags/version', { tag });
}

export async function createTag(client: ApiClient, table: TablePath, body: TagChangeBody): Promise<ChangeReply> {
  return callTable(client, table, 'tags/create', body);
}

export async function updateTag(client: ApiClient, table: TablePath, body: TagChangeBody): Promise<ChangeReply> {
  return callTable(client, table, 'tags/update', body);
}

export async function deleteTag(client: ApiClient, table: TablePath, tag: string): Promise<ChangeReply> {
  return callTable(client, table, 'tags/delete', { tag });
}

export async function listBranches(
  client: ApiClient,
  table: TablePath,
): Promise<Readonly<Record<string, BranchShape>>> {
  const found: Record<string, BranchShape> = {};
  for await (const page of postPages<ListBranchesReply>(client, tableAddress(table, 'branches/list'), {})) {
    Object.assign(found, page.branches);
  }
  return found;
}

export async function createBranch(client: ApiClient, table: TablePath, body: CreateBranchBody): Promise<ChangeReply> {
  return callTable(client, table, 'branches/create', body);
}

export async function deleteBranch(client: ApiClient, table: TablePath, name: string): Promise<ChangeReply> {
  return callTable(client, table, 'branches/delete', { name });
}
