import type { SucceededWrite, TableWrite, WriteResult } from '../../writes/writes.ts';
import type { Reply, RequestFacts, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';

/** The fields of a write that a request makes, beside its plan. */
export function describeWrite(
  request: Pick<TableRequest, 'table' | 'write'>,
  branch: string | undefined,
): Pick<TableWrite<unknown>, 'request' | 'table' | 'branch' | 'recordedAs'> {
  const { table, write } = request;
  return { request: write, table, branch, recordedAs: write.operation };
}

/** A write whose reply holds nothing but the version and the id of the transaction. */
export async function runPlainWrite(
  services: Services,
  write: Omit<TableWrite<object>, 'rule' | 'toFields'>,
): Promise<Reply> {
  const rule = { from: 'nothing' } as const;
  return replyToWrite(await services.writes.run({ ...write, rule, toFields: () => ({}) }));
}

/** Throws what was refused, or is in doubt. */
export function requireSuccess(result: WriteResult): SucceededWrite {
  if ('error' in result) throw result.error;
  return result;
}

/** The reply to a write: its fields, the version, and the id of the transaction. */
export function replyToWrite(result: WriteResult): Reply {
  const success = requireSuccess(result);
  const { fields, version, transactionId } = success;
  const recorded = transactionId === undefined ? {} : { transaction_id: transactionId };
  return { kind: 'object', body: { ...fields, version, ...recorded }, ...toFrame(success) };
}

/** What any reply to the write carries: the response to be marked, and whether it was replayed. */
export function toFrame({ kind, response }: SucceededWrite): Pick<Reply, 'headers' | 'response'> {
  return {
    ...(response === undefined ? {} : { response }),
    ...(kind === 'replayed' ? { headers: { 'idempotency-replayed': 'true' } } : {}),
  };
}

export interface OnceOptions {
  readonly run: () => Promise<Reply>;
  /** Reads the body to its end, where the operation has not read it yet. */
  readonly readBody?: () => Promise<void>;
}

/** A request that is one catalog transaction: with a key it is applied once, and sent again it gets the same reply. */
export async function runOnce(
  { write }: Pick<RequestFacts, 'write'>,
  { writes }: Services,
  { run, readBody }: OnceOptions,
): Promise<Reply> {
  if (write.key === undefined) return run();
  return writes.single(write, async () => {
    if (!(await writes.hasKey(write))) return run();
    await readBody?.();
    const replayed = await writes.findReplay(write);
    return replayed === undefined ? run() : replyToWrite(replayed);
  });
}
