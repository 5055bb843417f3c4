import type { CommitEntry } from '../../catalog/catalog.ts';
import type { TableRecord } from '../../model/table.ts';
import type { Services } from '../services.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import type { RequestFacts, Reply, TableRequest } from '../operation.ts';
import type { ChangeReply } from '../../wire/history/versions.ts';

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

/** How a record of a commit names the branch: not at all when it is the main one. */
export function toBranchEntry(branch: string | undefined): { readonly branch?: string } {
  return branch === undefined || branch === MAIN_BRANCH ? {} : { branch };
}

/** The record of a change of names, which makes no version. */
export function toNameEntry({ caller, requestId }: RequestFacts, operation: string): CommitEntry {
  return { operation, caller: caller.id, requestId, version: 0 };
}

export interface Change {
  readonly operation: string;
  readonly version: number;
  readonly branch: string | undefined;
}

/** Records a change that has nothing else to tell, and answers with the record's id. */
export async function recordChange(request: TableRequest, services: Services, change: Change): Promise<Reply> {
  const { transaction_id } = await recordCommit(services, request.table, {
    operation: change.operation,
    caller: request.caller.id,
    requestId: request.requestId,
    version: change.version,
    ...toBranchEntry(change.branch),
  });
  const reply: ChangeReply = transaction_id === undefined ? {} : { transaction_id };
  return { kind: 'object', body: reply };
}
