import { ServiceError } from '../../errors/service-error.ts';
import { requireInteger } from '../../guard/numbers.ts';
import type { TableRequest } from '../operation.ts';

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
