import type { Fields, Growth, SucceededWrite, TableWrite, WriteResult } from '../../writes/writes.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';

/** For a write that may add an unknown number of bytes: refused once a quota is used up. */
export const SOME_BYTES: Growth = { rows: 0, bytes: 1 };

type WriteSource = Pick<TableRequest, 'table' | 'write'>;

/** The fields of a table write that follow from its request. */
export function describeWrite({ table, write }: WriteSource, branch: string | undefined) {
  return { request: write, table, branch, recordedAs: write.operation };
}

type OneCommit<Outcome> = Pick<TableWrite<Outcome>, 'branch' | 'plan'> & Partial<TableWrite<Outcome>>;

/** For replies with only the version and the transaction id. */
export const ONLY_VERSION = { rule: { from: 'nothing' }, toFields: () => ({}) } as const;

/** Runs a write of one commit. By default its reply has only the version and the transaction id. */
export async function runWrite<Outcome>(
  source: WriteSource,
  services: Services,
  write: OneCommit<Outcome>,
): Promise<Reply> {
  return replyToWrite(await services.writes.run({ ...describeWrite(source, write.branch), ...ONLY_VERSION, ...write }));
}

/** Throws the error of a write that was refused or is in doubt. */
export function requireSuccess(result: WriteResult): SucceededWrite {
  if ('error' in result) throw result.error;
  return result;
}

/** The reply to a write: its fields, the version, fields that are not stored for replays, and the transaction id. */
export function replyToWrite(result: WriteResult, toOtherFields?: (success: SucceededWrite) => Fields): Reply {
  const success = requireSuccess(result);
  const { fields, version, transactionId } = success;
  const body = { ...fields, version, ...toOtherFields?.(success), transaction_id: transactionId };
  return { kind: 'object', body, ...toFrame(success) };
}

/** What every reply to a write has: the response to mark, and whether it was replayed. */
export function toFrame({ kind, response }: SucceededWrite): Pick<Reply, 'headers' | 'response'> {
  return {
    ...(response === undefined ? {} : { response }),
    ...(kind === 'replayed' ? { headers: { 'idempotency-replayed': 'true' } } : {}),
  };
}
