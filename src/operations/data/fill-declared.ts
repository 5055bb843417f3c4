import { ServiceError } from '../../errors/service-error.ts';
import type { TableRecord } from '../../model/table.ts';
import type { TableIngestRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { fillTable } from '../tables/create-table.ts';
import type { FreshTable } from '../tables/create-table.ts';
import { isOnlyDeclared } from '../tables/declared-tables.ts';
import { readTarget } from './write-target.ts';

/** The table that rows are for. One that was only declared is made from them, and there is nothing more to do. */
export async function findFilled(request: TableIngestRequest, services: Services): Promise<TableRecord | FreshTable> {
  const { table } = request;
  // It has no branch but the main one.
  const isEmpty = readTarget(table, request.query).branch === undefined && (await isOnlyDeclared(table, services));
  if (!isEmpty) return table;
  try {
    const noted = request.intent?.of(table, undefined);
    return await fillTable({ ...request, path: table.path, noted }, services);
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
