import type { WriteTarget } from '../../engine/engine.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import type { TableRecord } from '../../model/table.ts';

interface BranchChoice {
  readonly branch?: string | undefined;
}

/** The branch stands in the body, or in the address when the body is data. Absent for the main one. */
export function readBranch({ branch }: BranchChoice): string | undefined {
  if (branch === '') throw new ServiceError('InvalidInput', 'branch is empty.');
  return branch === MAIN_BRANCH ? undefined : branch;
}

export function readTarget(table: TableRecord, choice: BranchChoice): WriteTarget {
  return { location: table.location, branch: readBranch(choice) };
}
