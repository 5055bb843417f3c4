import type { CommitEntry } from '../catalog/catalog.ts';
import type { TableRecord } from '../model/table.ts';
import type { Services } from './services.ts';

export interface RecordedCommit {
  readonly transaction_id?: string;
}

/**
 * Records a change that makes no version of rows, such as a tag or an index. It is already visible, so a failure here must
 * not become a failed request, which clients would send again: the reply then lacks the transaction id.
 */
export async function recordCommit(
  services: Services,
  table: TableRecord,
  entry: CommitEntry,
): Promise<RecordedCommit> {
  services.maintenance.noteCommit(table);
  try {
    const [recorded] = await services.catalog.journal.record([{ table, commit: entry }], true);
    // Dropped in the moment after: there is nothing left whose history would lack an entry.
    return recorded === undefined ? {} : { transaction_id: recorded.transactionId };
  } catch (error) {
    services.telemetry.emit({ kind: 'background-failed', task: `record of ${entry.operation}`, cause: error });
    return {};
  }
}
