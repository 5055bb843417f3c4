import type { TransactionRecord } from '../../catalog/catalog.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { isPermitted } from '../../model/caller.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { Transaction } from '../../wire/transactions.ts';
import type { DatabaseRequest, RequestFacts } from '../operation.ts';
import type { Services } from '../services.ts';
import { toShownPath } from '../shown-path.ts';

/** Whoever may read a table may read what was done to it; another database's records are not there. */
export function maySee({ caller, database, prefix }: RequestFacts, record: TransactionRecord): boolean {
  const isBelow = record.path.length > prefix.length && prefix.every((name, index) => record.path[index] === name);
  return record.databaseId === database.id && isBelow && isPermitted(caller, 'read', database.name, record.path);
}

export async function requireTransaction(
  request: DatabaseRequest<{ readonly id?: string[] }>,
  services: Services,
): Promise<TransactionRecord> {
  const id = request.params['id'] ?? '';
  const given = request.body.id;
  if (given !== undefined && given.join(request.delimiter) !== id) {
    throw new ServiceError('InvalidInput', 'The id in the body is not the one in the address.');
  }
  const record = await services.catalog.transactions.find(id);
  if (record !== undefined && maySee(request, record)) return record;
  throw new ServiceError('TransactionNotFound', `The transaction ${quoteForMessage(id)} was not found.`);
}

export function toTransaction(request: RequestFacts, record: TransactionRecord): Transaction {
  return {
    transaction_id: record.id,
    operation: record.operation,
    id: toShownPath(request, record.path),
    ...(record.version === 0 ? {} : { version: record.version }),
    ...(record.branch === undefined ? {} : { branch: record.branch }),
    caller: record.caller,
    request_id: record.requestId,
    committed_at: new Date(record.committedAt).toISOString(),
  };
}
