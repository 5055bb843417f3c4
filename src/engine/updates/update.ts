import { computedText } from '../../model/schema.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { CommitGroup, CommitPlan, Committed, PreparedCommit } from '../commits/commit-plan.ts';
import { NeedsTwoCommits, planRecomputation } from '../computed/recompute.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { EngineParts } from '../parts.ts';
import type { OpenTable, WriteTarget } from '../tables/table-handle.ts';
import { useExactNames } from '../workarounds/exact-names.ts';
import { mapExpressions, refuseCrossReferences } from '../workarounds/cross-references.ts';
import { keepNullStructs } from '../workarounds/filtered-scans.ts';
import { toAssignmentTree, toColumnUpdates } from './assignments.ts';
import type { Assignment, AssignmentTree } from './assignments.ts';
import { countKeys, countWrittenKeys } from './key-counts.ts';
import type { KeyCounts } from './key-counts.ts';
import { toPointUpdate } from './point-update.ts';
import type { PointUpdate } from './point-update.ts';
import { UpdateGroup } from './update-group.ts';

export interface UpdateRequest {
  readonly assignments: readonly Assignment[];
  /** Absent: all rows are updated. */
  readonly predicate: GuardedSql | undefined;
}

export interface UpdatedRows {
  readonly rowsUpdated: number;
}

/**
 * Sets columns by expressions; queued updates of other rows may share the commit. The engine commits even if no row
 * matches.
 */
export class UpdatePlan implements CommitPlan<UpdatedRows> {
  readonly kinds = ['update'] as const;
  /** `undefined` if the update cannot share a commit. */
  readonly point: PointUpdate | undefined;
  readonly #parts: EngineParts;
  readonly #target: WriteTarget;
  readonly #update: TreeUpdate;

  constructor(parts: EngineParts, target: WriteTarget, { assignments, predicate }: UpdateRequest) {
    const tree = toAssignmentTree(assignments);
    this.point = toPointUpdate(tree, predicate);
    this.#parts = parts;
    this.#target = target;
    this.#update = { tree, predicate };
  }

  async prepare(table: OpenTable): Promise<PreparedCommit<UpdatedRows>> {
    return { commit: await prepareUpdate(this.#parts, table, this.#update) };
  }

  async startGroup(table: OpenTable): Promise<CommitGroup<UpdatedRows> | undefined> {
    if (this.point === undefined) return undefined;
    const schema = await table.schema();
    // Columns that are computed from the updated ones are set separately by each update.
    if (schema.fields.some((field) => computedText(field) !== undefined)) return undefined;
    const group = UpdateGroup.start(this.point, schema);
    return group === undefined ? undefined : toCommitGroup(this.#parts, this.#target, group);
  }
}

interface TreeUpdate {
  readonly tree: AssignmentTree;
  readonly predicate: string | undefined;
}

async function prepareUpdate(
  { release, sqlLimits }: EngineParts,
  table: OpenTable,
  update: TreeUpdate,
): Promise<() => Promise<Committed<UpdatedRows>>> {
  const schema = await table.schema();
  const predicate = useExactNames(schema, update.predicate);
  const assigned = mapExpressions(update.tree, (expression) => useExactNames(schema, expression));
  refuseCrossReferences(assigned, schema);
  const { tree, after } = planRecomputation(assigned, schema, sqlLimits);
  if (after.length > 0) throw new NeedsTwoCommits();
  const columns = toColumnUpdates(tree, schema);
  const guarded = predicate === undefined ? null : keepNullStructs(predicate, schema, release);
  return async () => {
    const { rowsUpdated, version } = await engineCall(async () => table.native.update(guarded, columns));
    table.moved(version);
    return { version, outcome: { rowsUpdated } };
  };
}

/** For an update of more rows, the cost of a separate commit does not matter. */
const ROWS_MAX = 1000;

/** Merges several updates into one engine update. The rows of each are counted by key. */
function toCommitGroup(parts: EngineParts, target: WriteTarget, group: UpdateGroup): CommitGroup<UpdatedRows> {
  const { limits, tables } = parts;
  return {
    membersMax: limits.updateGroupMax,
    add: (plan) => plan instanceof UpdatePlan && plan.point !== undefined && group.add(plan.point),
    async prepare(table) {
      const update = group.toUpdate();
      const toOutcomes = (counts: KeyCounts) => update.keys.map((key) => ({ rowsUpdated: counts.get(key) ?? 0 }));
      const apply = await prepareUpdate(parts, table, update);
      const base = await table.version();
      const counts = await countKeys(table.native, update, ROWS_MAX);
      if (counts === undefined) return undefined;
      const addedRows = [...counts.values()].reduce((sum, count) => sum + count, 0);
      return {
        addedRows,
        expected: toOutcomes(counts),
        async commit() {
          const { version, outcome } = await apply();
          const { rowsUpdated } = outcome;
          // If another process committed in between, the engine may have updated other rows than were counted.
          if (version === base + 1 && rowsUpdated === addedRows) return { version, outcome: toOutcomes(counts) };
          const counted = tables.use({ ...target, version }, async ({ native }) =>
            countWrittenKeys(native, update, rowsUpdated),
          );
          // The update is committed and must not fail here; the earlier counts were right a moment ago.
          return { version, outcome: toOutcomes(await counted.catch(() => counts)) };
        },
      };
    },
  };
}
