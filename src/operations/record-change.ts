import type { ChangeReply } from '../wire/versions.ts';
import { toBranchEntry } from './branch-entry.ts';
import type { Reply, TableRequest } from './operation.ts';
import { recordCommit } from './record-commit.ts';
import type { Services } from './services.ts';

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
