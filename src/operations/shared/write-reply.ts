import type { SucceededWrite, TableWrite, WriteResult } from '../../writes/writes.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';

/** The fields of a table write that follow from its request. */
export function describeWrite(
  { table, write }: Pick<TableRequest, 'table' | 'write'>,
  branch: string | undefined,
): Pick<TableWrite<unknown>, 'request' | 'table' | 'branch' | 'recordedAs'> {
  return { request: write, table, branch, recordedAs: write.operation };
}

/** A write whose reply has only the version and the transaction id. */
export async function runPlainWrite(
  services: Services,
  write: Omit<TableWrite<object>, 'rule' | 'toFields'>,
): Promise<Reply> {
  const rule = { from: 'nothing' } as const;
  return replyToWrite(await services.writes.run({ ...write, rule, toFields: () => ({}) }));
}

/** Throws the error of a write that was refused or is in doubt. */
export function requireSuccess(result: WriteResult): SucceededWrite {
  if ('error' in result) throw result.error;
  return result;
}

/** The reply to a write: its fields, the version, and the transaction id. */
export function replyToWrite(result: WriteResult): Reply {
  const success = requireSuccess(result);
  const { fields, version, transactionId } = success;
  return { kind: 'object', body: { ...fields, version, transaction_id: transactionId }, ...toFrame(success) };
}

/** What every reply to the write carries: the response to be marked, and whether it was replayed. */
export function toFrame({ kind, response }: SucceededWrite): Pick<Reply, 'headers' | 'response'> {
  return {
    ...(response === undefined ? {} : { response }),
    ...(kind === 'replayed' ? { headers: { 'idempotency-replayed': 'true' } } : {}),
  };
}
