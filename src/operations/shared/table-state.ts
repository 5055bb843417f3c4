import type { WriteTarget } from '../../engine/engine.ts';
import { invalidInput } from '../../errors/service-error.ts';
import { requireInteger } from '../../guard/numbers.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import type { StateRequest, TableRecord } from '../../model/table.ts';
import type { OperationRequest, TableRequest } from '../operation.ts';

export { toTableState } from '../../model/table.ts';

/** The branch that a part of a body names; `undefined` for the main branch. */
export function readBranch({ branch }: StateRequest): string | undefined {
  return branch === MAIN_BRANCH ? undefined : branch;
}

/** Drops the name of the main branch, so that operations see only one form of it. */
export function withoutMainBranch<Given extends Pick<OperationRequest, 'body' | 'query'>>(given: Given): Given {
  const { body, query } = given;
  if (query['branch'] === '') throw invalidInput('branch is empty.');
  refuseContradiction('branch', body?.['branch'], query['branch']);
  if ((body?.['branch'] ?? query['branch']) !== MAIN_BRANCH) return given;
  return { ...given, body: { ...body, branch: undefined }, query: { ...query, branch: undefined } };
}

export function readTarget(table: TableRecord, { branch }: StateRequest): WriteTarget {
  return { location: table.location, branch };
}

/** Branch and version, from the body or the query; if both have one, they must match. */
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
