import { ServiceError } from '../../errors/service-error.ts';
import type { TableRecord } from '../../model/table.ts';
import type { Fields, WriteResult } from '../../writes/writes.ts';
import type { TableIngestRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { fillTable } from '../tables/create-table.ts';
import { isOnlyDeclared } from '../tables/declared-tables.ts';
import { readBranch } from '../shared/table-state.ts';

/** The table that rows are for; or, when it was only declared, the result of making it from them. */
export type Filled =
  | { readonly kind: 'existing'; readonly table: TableRecord }
  | { readonly kind: 'filled'; readonly result: WriteResult };

export async function findFilled(
  request: TableIngestRequest,
  services: Services,
  toFields: (outcome: { readonly rows: number }) => Fields,
): Promise<Filled> {
  const { table } = request;
  // It has no branch but the main one.
  const isEmpty = readBranch(request.query) === undefined && (await isOnlyDeclared(table, services));
  if (!isEmpty) return { kind: 'existing', table };
  try {
    return await fillTable({ ...request, path: table.path }, services, toFields);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'TableAlreadyExists') throw error;
    throw madeMeanwhile(error);
  }
}

/** Nothing of this request is in the table, and its rows have been read: only the sender has them still. */
function madeMeanwhile(cause: unknown): ServiceError {
  return new ServiceError('ConcurrentModification', 'Another request made the table from its rows at the same time.', {
    hint: 'Send the rows again: they are added then.',
    retryAfterSeconds: 1,
    cause,
  });
}
