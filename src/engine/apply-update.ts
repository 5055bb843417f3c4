import type { AssignmentTree } from './assignment-tree.ts';
import { refuseCrossReferences } from './cross-references.ts';
import { engineCall } from './engine-errors.ts';
import { touchNullStructs } from './null-structs.ts';
import type { OpenTable } from './open-table.ts';
import { toColumnUpdates } from './struct-rewrite.ts';
import type { UpdateOutcome } from './update-turn.ts';

export interface AppliedUpdate {
  readonly tree: AssignmentTree;
  readonly predicate: string | undefined;
}

/** One update and one commit of the engine, by whoever has the turn in the table's lane. */
export async function applyUpdate(table: OpenTable, { tree, predicate }: AppliedUpdate): Promise<UpdateOutcome> {
  const schema = await table.schema();
  refuseCrossReferences(tree, schema);
  const columns = toColumnUpdates(tree, schema);
  const guarded = predicate === undefined ? null : touchNullStructs(predicate, schema);
  const { rowsUpdated, version } = await engineCall(async () => table.native.update(guarded, columns));
  table.moved(version);
  return { rowsUpdated, version };
}
