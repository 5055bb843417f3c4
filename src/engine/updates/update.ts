import type { GuardedSql } from '../../model/query.ts';
import type { CommitGroup, CommitPlan, Committed, PreparedCommit } from '../commits/commit-plan.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { EngineParts } from '../parts.ts';
import type { OpenTable, WriteTarget } from '../tables/table-handle.ts';
import { refuseCrossReferences } from '../workarounds/cross-references.ts';
import { keepNullStructs } from '../workarounds/filtered-scans.ts';
import { toAssignmentTree, toColumnUpdates } from './assignments.ts';
import type { Assignment, AssignmentTree } from './assignments.ts';
import { countKeys, countWrittenKeys } from './key-counts.ts';
import type { KeyCounts } from './key-counts.ts';
import { toPointUpdate } from './point-update.ts';
import type { UpdateParts } from './point-update.ts';
import { UpdateGroup } from './update-group.ts';
import type { GroupedUpdate } from './update-group.ts';

export interface UpdateRequest {
  readonly assignments: readonly Assignment[];
  /** Without one every row is updated. */
  readonly predicate: GuardedSql | undefined;
}

export interface UpdatedRows {
  readonly rowsUpdated: number;
}

/** Sets columns by expressions; queued updates of other rows may share the commit. The engine commits even without a match. */
export class UpdatePlan implements CommitPlan<UpdatedRows> {
  readonly kinds = ['update'] as const;
  readonly plan: UpdateParts;
  readonly #parts: EngineParts;
  readonly #target: WriteTarget;

  constructor(parts: EngineParts, target: WriteTarget, { assignments, predicate }: UpdateRequest) {
    this.#parts = parts;
    this.#target = target;
    this.plan = { tree: toAssignmentTree(assignments), predicate };
  }

  async prepare(table: OpenTable): Promise<PreparedCommit<UpdatedRows>> {
    return { commit: await prepareUpdate(table, this.plan) };
  }

  async startGroup(table: OpenTable): Promise<CommitGroup<UpdatedRows> | undefined> {
    if (toPointUpdate(this.plan) === undefined) return undefined;
    const group = UpdateGroup.start(this.plan, await table.schema());
    return group === undefined ? undefined : new UpdateCommitGroup(this.#parts, this.#target, group);
  }
}

async function prepareUpdate(
  table: OpenTable,
  { tree, predicate }: { readonly tree: AssignmentTree; readonly predicate: string | undefined },
): Promise<() => Promise<Committed<UpdatedRows>>> {
  const schema = await table.schema();
  refuseCrossReferences(tree, schema);
  const columns = toColumnUpdates(tree, schema);
  const guarded = predicate === undefined ? null : keepNullStructs(predicate, schema);
  return async () => {
    const { rowsUpdated, version } = await engineCall(async () => table.native.update(guarded, columns));
    table.moved(version);
    return { version, outcome: { rowsUpdated } };
  };
}

/** For an update of more rows, the cost of a separate commit does not matter. */
const ROWS_MAX = 1000;

/** Several updates as one update of the engine. The rows of each are counted by key. */
class UpdateCommitGroup implements CommitGroup<UpdatedRows> {
  readonly membersMax: number;
  readonly #parts: EngineParts;
  readonly #target: WriteTarget;
  readonly #group: UpdateGroup;

  constructor(parts: EngineParts, target: WriteTarget, group: UpdateGroup) {
    this.membersMax = parts.limits.updateGroupMax;
    this.#parts = parts;
    this.#target = target;
    this.#group = group;
  }

  add(plan: CommitPlan<unknown>): boolean {
    return plan instanceof UpdatePlan && this.#group.add(plan.plan);
  }

  async prepare(table: OpenTable): Promise<PreparedCommit<readonly UpdatedRows[]> | undefined> {
    const update = this.#group.toUpdate();
    const apply = await prepareUpdate(table, update);
    const base = await table.version();
    const counts = await countKeys(table.native, update, ROWS_MAX);
    if (counts === undefined) return undefined;
    return {
      addedRows: sum(counts),
      expected: toOutcomes(update, counts),
      commit: async () => {
        const { version, outcome } = await apply();
        // With a commit of another process in between, the engine may have updated other rows than were counted.
        const isExact = version === base + 1 && sum(counts) === outcome.rowsUpdated;
        const exact = isExact ? counts : await this.#countAgain(update, { version, outcome }, counts);
        return { version, outcome: toOutcomes(update, exact) };
      },
    };
  }

  async #countAgain(
    update: GroupedUpdate,
    { version, outcome }: Committed<UpdatedRows>,
    countsBefore: KeyCounts,
  ): Promise<KeyCounts> {
    try {
      return await this.#parts.tables.use({ ...this.#target, version }, async ({ native }) =>
        countWrittenKeys(native, update, outcome.rowsUpdated),
      );
    } catch {
      // The update is committed and must not fail here; these counts were right a moment ago.
      return countsBefore;
    }
  }
}

function toOutcomes({ keys }: GroupedUpdate, counts: KeyCounts): readonly UpdatedRows[] {
  return keys.map((key) => ({ rowsUpdated: counts.get(key) ?? 0 }));
}

function sum(counts: KeyCounts): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}
