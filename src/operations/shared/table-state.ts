import { MAIN_BRANCH } from '../../model/table.ts';
import type { TableRecord, TableState } from '../../model/table.ts';
import type { WriteTarget } from '../../engine/engine.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { requireInteger } from '../../guard/numbers.ts';
import type { TableRequest } from '../operation.ts';

interface StateRequest {
  readonly branch?: string | undefined;
  readonly version?: number | undefined;
}

/** The state that a reader gets: what it asked for; else the latest, or the one held while a write takes several commits. */
export function toTableState(table: TableRecord, request: StateRequest): TableState {
  const branch = request.branch === MAIN_BRANCH ? undefined : request.branch;
  const held = branch === table.heldBranch ? table.heldVersion : undefined;
  return { location: table.location, branch, version: request.version ?? held };
}

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

interface StateBody {
  readonly branch?: string;
  readonly version?: number;
}

export interface AskedState {
  readonly branch: string | undefined;
  readonly version: number | undefined;
}

/** Branch and version, from the body or from the query; where both say one, they must agree. */
export function readState(request: TableRequest<StateBody>): AskedState {
  const { query, body } = request;
  const version = query['version'] === undefined ? undefined : readVersion(query['version']);
  refuseContradiction('branch', body.branch, query['branch']);
  refuseContradiction('version', body.version, version);
  return { branch: body.branch ?? query['branch'], version: body.version ?? version };
}

function readVersion(text: string): number {
  return requireInteger(Number(text), { field: 'version', minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
}

function refuseContradiction(name: string, inBody: unknown, inQuery: unknown): void {
  if (inBody === undefined || inQuery === undefined || inBody === inQuery) return;
  throw new ServiceError('InvalidInput', `The body and the address name different values of ${name}.`, {
    hint: 'Give it once.',
  });
}
