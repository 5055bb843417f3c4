import type { GuardedSql } from '../model/query.ts';
import { engineCall } from './engine-errors.ts';
import { writeInLane } from './table-writes.ts';
import type { WriteContext, WriteTarget } from './table-writes.ts';

export interface DeleteOutcome {
  readonly rowsDeleted: number;
  readonly version: number;
}

/** The engine makes a new version even when no row matches. */
export async function deleteRows(
  context: WriteContext,
  target: WriteTarget,
  predicate: GuardedSql,
): Promise<DeleteOutcome> {
  return writeInLane(context, target, async (table) => {
    const { numDeletedRows, version } = await engineCall(async () => table.native.delete(predicate));
    table.moved(version);
    return { rowsDeleted: numDeletedRows, version };
  });
}
