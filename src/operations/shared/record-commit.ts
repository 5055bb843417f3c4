import type { CommitEntry, NewCommit } from '../../catalog/catalog.ts';
import type { Fields } from '../../writes/writes.ts';
import type { Reply, RequestFacts, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';

type Change = Pick<CommitEntry, 'version' | 'branch'> &
  Pick<NewCommit, 'removedVersions'> & { readonly fields?: Fields };

/** The record of a commit; by default of a change of names, which creates no version. */
export function toCommitEntry({ caller, requestId, write }: RequestFacts, version = 0): CommitEntry {
  return { operation: write.operation, caller: caller.id, requestId, version };
}

/** Makes a change that creates no version, such as a tag, in the table's write queue, and replies with its record. */
export async function runChange(
  request: TableRequest,
  services: Services,
  work: (confirm: () => Promise<void>) => Promise<Change>,
): Promise<Reply> {
  const { version, branch, fields, removedVersions } = await services.writes.change(request.table, work);
  const entry = { ...toCommitEntry(request, version), branch };
  const transaction_id = await recordCommit(request, services, entry, removedVersions);
  return { kind: 'object', body: { ...fields, transaction_id } };
}

/**
 * The id of the record. The change is already visible: if a failure here failed the request, clients would retry it.
 */
export async function recordCommit(
  { table }: Pick<TableRequest, 'table'>,
  services: Services,
  commit: CommitEntry,
  removedVersions?: NewCommit['removedVersions'],
) {
  services.maintenance.recordCommit(table);
  const recorded = await orReport(`record of ${commit.operation}`, services, async () =>
    services.catalog.journal.record([{ table, commit, removedVersions }], true),
  );
  // Without a record, the table was dropped meanwhile, and has no history to complete.
  return recorded?.[0]?.transactionId;
}

/** For work whose failure must not fail the request. */
export async function orReport<Value>(task: string, { telemetry }: Services, work: () => Promise<Value>) {
  try {
    return await work();
  } catch (cause) {
    telemetry.emit({ kind: 'background-failed', task, cause });
    return undefined;
  }
}
