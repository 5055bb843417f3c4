import { ServiceError } from '../../errors/service-error.ts';
import type { ColumnsReply } from '../../wire/columns.ts';
import type { Reply, TableRequest } from '../operation.ts';
import { recordCommit } from '../record-commit.ts';
import type { Services } from '../services.ts';

/** The reply to a change of columns that the engine has committed. */
export async function replyToChange(
  request: TableRequest<{ readonly branch?: string }>,
  services: Services,
  commit: { readonly operation: string; readonly version: number },
): Promise<Reply> {
  const { table, caller, requestId, body } = request;
  const { transaction_id } = await recordCommit(services, table, {
    ...commit,
    caller: caller.id,
    requestId,
    ...(body.branch === undefined ? {} : { branch: body.branch }),
  });
  const reply: ColumnsReply = {
    version: commit.version,
    ...(transaction_id === undefined ? {} : { transaction_id }),
  };
  return { kind: 'object', body: reply };
}

export function requireEntries(name: string, count: number, maximum: number): void {
  if (count === 0) throw new ServiceError('InvalidInput', `${name} is empty.`, { hint: 'Give at least one entry.' });
  if (count > maximum) {
    throw new ServiceError('InvalidInput', `${name} has ${count} entries; at most ${maximum} are allowed.`);
  }
}

export function notOffered(place: string): ServiceError {
  return new ServiceError('Unsupported', `${place} is not offered.`);
}
