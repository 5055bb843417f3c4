import type { WriteTarget } from '../../engine/engine.ts';
import { invalidInput } from '../../errors/service-error.ts';
import { requireInteger } from '../../guard/numbers.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import type { StateRequest, TableRecord } from '../../model/table.ts';
import type { TableRequest } from '../operation.ts';

export { toTableState } from '../../model/table.ts';

/** The branch that a body names, or a query where the body is data; `undefined` for the main one. */
export function readBranch({ branch }: StateRequest): string | undefined {
  if (branch === '') throw invalidInput('branch is empty.');
  return branch === MAIN_BRANCH ? undefined : branch;
}

export function readTarget(table: TableRecord, choice: StateRequest): WriteTarget {
  return { location: table.location, branch: readBranch(choice) };
}

/** Branch and version, from the body or from the query; where both name one, they must agree. */
export function readState({ query, body }: TableRequest<StateRequest>): StateRequest {
  const rule = { field: 'version', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
  const version = query['version'] === undefined ? undefined : requireInteger(Number(query['version']), rule);
  refuseContradiction('branch', body.branch, query['branch']);
  refuseContradiction('version', body.version, version);
  return { branch: body.branch ?? query['branch'], version: body.version ?? version };
}

function refuseContradiction(name: string, inBody: unknown, inQuery: unknown): void {
  if (inBody === undefined || inQuery === undefined || inBody === inQuery) return;
  throw invalidInput(`The body and the URL have different values of ${name}.`, 'Give it once.');
}
