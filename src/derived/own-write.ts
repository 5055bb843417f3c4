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

interface QuotaParts {
  readonly catalog: Pick<Catalog, 'quotas'>;
  readonly sizeQuotas: Pick<SizeQuotas, 'begin'>;
}

/** As `SizeQuotas.begin`: no request has brought the quotas along. */
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

/** The result of such a write counts as answered. Throws what failed. */
export async function requireOwnSuccess({ responses }: Pick<Writes, 'responses'>, result: WriteResult) {
  if ('error' in result) throw result.error;
  // A mark that fails only keeps the entry longer.
  if (result.response !== undefined) await responses.mark(result.response)?.catch(() => {});
  return result satisfies SucceededWrite;
}
