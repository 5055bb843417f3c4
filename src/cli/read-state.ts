import type { ApiClient } from '../client/api-client.ts';
import { tagVersion } from '../client/history.ts';
import type { State } from '../client/indexes.ts';
import type { TablePath } from '../model/identifier.ts';
import { CommandFault } from './command.ts';
import type { Given, Option } from './options.ts';

export const BRANCH_OPTION: Option = {
  name: 'branch',
  value: 'NAME',
  help: 'branch to work on; the main one when absent',
};

export const STATE_OPTIONS: readonly Option[] = [
  { name: 'at', value: 'VERSION', help: 'as of a version, given by its number or by a tag' },
  BRANCH_OPTION,
];

/** The state that --at and --branch mean. A tag stands for both. */
export async function readState(client: ApiClient, table: TablePath, given: Given): Promise<State> {
  const at = given.value('at');
  const branch = given.value('branch');
  const onBranch = branch === undefined ? {} : { branch };
  if (at === undefined) return onBranch;
  if (/^\d{1,15}$/.test(at)) return { version: Number(at), ...onBranch };
  if (branch !== undefined) throw new CommandFault(['A tag names a branch itself: give --at TAG without --branch.']);
  const named = await tagVersion(client, table, at);
  return { version: named.version, ...(named.branch === undefined ? {} : { branch: named.branch }) };
}

export function readBranch(given: Given): { readonly branch?: string } {
  const branch = given.value('branch');
  return branch === undefined ? {} : { branch };
}
