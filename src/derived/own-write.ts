import { randomUUID } from 'node:crypto';
import type { SucceededWrite, WriteRequest, WriteResult, Writes } from '../writes/writes.ts';

export interface OwnWrite {
  readonly operation: string;
  readonly caller: string;
  readonly requestId: string;
}

/** The identity of a write that a job makes: no client repeats it, and none waits for it. */
export function toOwnRequest({ operation, caller, requestId }: OwnWrite): WriteRequest {
  const digest = randomUUID();
  const { signal } = new AbortController();
  return {
    operation,
    caller,
    requestId,
    key: undefined,
    expectedVersion: undefined,
    digest: () => digest,
    signal: () => signal,
  };
}

/** The result of such a write counts as answered. Throws what failed. */
export async function requireOwnSuccess({ responses }: Pick<Writes, 'responses'>, result: WriteResult) {
  if ('error' in result) throw result.error;
  // A mark that fails only keeps the entry longer.
  if (result.response !== undefined) await responses.mark(result.response)?.catch(() => {});
  return result satisfies SucceededWrite;
}
