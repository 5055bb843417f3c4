import { randomUUID } from 'node:crypto';
import type { Catalog } from '../catalog/catalog.ts';
import type { TableRecord } from '../model/table.ts';
import type { SizeQuotas, SizedWrite } from '../quotas/size-quotas.ts';
import type { SucceededWrite, WriteRequest, WriteResult, Writes } from '../writes/writes.ts';

export interface OwnWrite {
  readonly operation: string;
  readonly caller: string;
  readonly requestId: string;
}

/** The identity of a write by a job: no client repeats it or waits for it. */
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

interface QuotaParts {
  readonly catalog: Pick<Catalog, 'quotas'>;
  readonly sizeQuotas: Pick<SizeQuotas, 'begin'>;
}

/** Like `SizeQuotas.begin`, but loads the quotas, which no request has provided. */
export async function beginOwnSized(
  table: TableRecord,
  caller: string,
  { catalog, sizeQuotas }: QuotaParts,
): Promise<SizedWrite | undefined> {
  const id = table.databaseId;
  const database = { id, quota: await catalog.quotas.of(`database:${id}`) };
  const quota = await catalog.quotas.of(caller);
  return sizeQuotas.begin({ caller: { id: caller, quota }, database, table, arrivedAt: performance.now() }, undefined);
}

/** Marks the result of such a write as answered. Throws on failure. */
export async function requireOwnSuccess({ responses }: Pick<Writes, 'responses'>, result: WriteResult) {
  if ('error' in result) throw result.error;
  // If the mark fails, the entry is only kept longer.
  if (result.response !== undefined) await responses.mark(result.response)?.catch(() => {});
  return result satisfies SucceededWrite;
}
