import type { GuardedSql } from '../model/query.ts';
import { toAssignmentTree } from './assignment-tree.ts';
import type { Assignment } from './assignment-tree.ts';
import { refuseCrossReferences } from './cross-references.ts';
import { engineCall } from './engine-errors.ts';
import { touchNullStructs } from './null-structs.ts';
import { toColumnUpdates } from './struct-rewrite.ts';
import { writeInLane } from './table-writes.ts';
import type { WriteContext, WriteTarget } from './table-writes.ts';

export interface UpdateRequest {
  readonly assignments: readonly Assignment[];
  readonly predicate: GuardedSql | undefined;
}

export interface UpdateOutcome {
  readonly rowsUpdated: number;
  readonly version: number;
}

/** Without a predicate every row is updated. The engine makes a new version even when no row matches. */
export async function updateRows(
  context: WriteContext,
  target: WriteTarget,
  { assignments, predicate }: UpdateRequest,
): Promise<UpdateOutcome> {
  const tree = toAssignmentTree(assignments);
  return writeInLane(context, target, async (table) => {
    const schema = await table.schema();
    refuseCrossReferences(tree, schema);
    const columns = toColumnUpdates(tree, schema);
    const guarded = predicate === undefined ? null : touchNullStructs(predicate, schema);
    const { rowsUpdated, version } = await engineCall(async () => table.native.update(guarded, columns));
    table.moved(version);
    return { rowsUpdated, version };
  });
}
