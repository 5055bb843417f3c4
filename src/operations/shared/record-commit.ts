import type { CommitEntry } from '../../catalog/catalog.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import type { ChangeReply } from '../../wire/history/versions.ts';
import { objectReply } from '../operation.ts';
import type { Reply, RequestFacts, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';

type Change = Pick<CommitEntry, 'version' | 'branch'>;

/** The record of a commit; it names no branch when that is the main one. */
export function toCommitEntry({ caller, requestId, write }: RequestFacts, { version, branch }: Change): CommitEntry {
  const named = branch === MAIN_BRANCH ? undefined : branch;
  return { operation: write.operation, caller: caller.id, requestId, version, branch: named };
}

/** The record of a change of names, which creates no version. */
export function toNameEntry(request: RequestFacts): CommitEntry {
  return toCommitEntry(request, { version: 0 });
}

/** Makes a change that creates no version, such as a tag, in the table's write queue, and replies with its record. */
export async function runChange(
  request: TableRequest,
  services: Services,
  work: () => Promise<Change>,
): Promise<Reply> {
  const change = await services.writes.exclusive(request.table.location, work);
  const transaction_id = await recordCommit(request, services, toCommitEntry(request, change));
  return objectReply<typeof ChangeReply>({ transaction_id });
}

/** The change is visible already: a failure here must not fail the request, which clients would retry. */
export async function recordCommit(
  { table }: Pick<TableRequest, 'table'>,
  services: Services,
  commit: CommitEntry,
): Promise<string | undefined> {
  services.maintenance.recordCommit(table);
  try {
    const [recorded] = await services.catalog.journal.record([{ table, commit }], true);
    // Without a record the table was dropped meanwhile, and has no history to complete.
    return recorded?.transactionId;
  } catch (error) {
    services.telemetry.emit({ kind: 'background-failed', task: `record of ${commit.operation}`, cause: error });
    return undefined;
  }
}
