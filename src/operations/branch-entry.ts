import { MAIN_BRANCH } from '../model/table.ts';

/** How a record of a commit names the branch: not at all when it is the main one. */
export function toBranchEntry(branch: string | undefined): { readonly branch?: string } {
  return branch === undefined || branch === MAIN_BRANCH ? {} : { branch };
}
