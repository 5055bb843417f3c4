import type { CommitEntry } from '../../catalog/catalog.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import type { TableRecord } from '../../model/table.ts';
import type { ChangeReply } from '../../wire/history/versions.ts';
import { objectReply } from '../operation.ts';
import type { Reply, RequestFacts, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';

interface Change {
  readonly operation: string;
  readonly version: number;
  readonly branch: string | undefined;
}

/** The record of a commit; it names no branch when that is the main one. */
export function toCommitEntry({ caller, requestId }: RequestFacts, { branch, ...change }: Change): CommitEntry {
  const isMain = branch === undefined || branch === MAIN_BRANCH;
  return { ...change, caller: caller.id, requestId, ...(isMain ? {} : { branch }) };
}

/** The record of a change of names, which creates no version. */
export function toNameEntry(request: RequestFacts, operation: string): CommitEntry {
  return toCommitEntry(request, { operation, version: 0, branch: undefined });
}

/** Records a change whose reply has nothing but the transaction id. */
export async function recordChange(request: TableRequest, services: Services, change: Change): Promise<Reply> {
  const transaction_id = await recordCommit(services, request.table, toCommitEntry(request, change));
  return objectReply<ChangeReply>({ transaction_id });
}

/**
 * Records a change that creates no version of rows, such as a tag or an index, and returns the transaction id. The change
 * is already visible, so a failure here must not fail the request, which clients would retry: the id is missing then.
 */
export async function recordCommit(
  services: Services,
  table: TableRecord,
  entry: CommitEntry,
): Promise<string | undefined> {
  services.maintenance.recordCommit(table);
  try {
    const [recorded] = await services.catalog.journal.record([{ table, commit: entry }], true);
    // Without a record the table was dropped meanwhile, and has no history to complete.
    return recorded?.transactionId;
  } catch (error) {
    services.telemetry.emit({ kind: 'background-failed', task: `record of ${entry.operation}`, cause: error });
    return undefined;
  }
}
