import type { CommitEntry } from '../catalog/catalog.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { TableRecord } from '../model/table.ts';
import type { Services } from './services.ts';

export interface RecordedCommit {
  readonly properties: Record<string, string>;
  readonly transaction_id?: string;
}

/**
 * Records a write that the engine has committed. The data is already visible, so a failure here must not become a failed
 * request, which clients would send again: the reply then lacks the transaction id and shows the properties as they are.
 */
export async function recordCommit(
  services: Services,
  table: TableRecord,
  entry: CommitEntry & { readonly properties?: Readonly<Record<string, string>> },
): Promise<RecordedCommit> {
  services.maintenance.noteCommit(table);
  try {
    const { transactionId, properties } = await services.catalog.tables.commit(table, entry);
    return { properties: { ...properties }, transaction_id: transactionId };
  } catch (error) {
    // Dropped in the moment after: there is nothing left whose history would lack an entry.
    const isGone = error instanceof ServiceError && error.kind === 'TableNotFound';
    if (!isGone)
      services.telemetry.emit({ kind: 'background-failed', task: `record of ${entry.operation}`, cause: error });
    return { properties: { ...table.properties } };
  }
}
